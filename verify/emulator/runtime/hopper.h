// What sm_90 adds: mbarriers, bulk copies and tensor maps, wgmma, clusters. For generated code.
//
// Asynchronous work is done at the last moment that hardware may take: a copy when somebody waits for it, so that a missing
// wait reads what was there before. Meanwhile the bytes that it will fill count as uninitialised, and the bytes that it reads
// must stay as they are.
// A shared::cluster address is offset | (rank + 1) << 24, or an offset alone for the own block. Generic ones are host addresses.
#ifndef EMU_HOPPER_H
#define EMU_HOPPER_H
#include "core.h"

// ---- addresses
u32 cluster_address(Thread *t, u64 generic, u32 site);  // generic → shared::cluster; reports what is no shared memory
u64 cluster_to_generic(Thread *t, u64 address);
u64 cluster_to_shared(Thread *t, u64 generic);
u8 is_cluster(Thread *t, u64 generic);
u64 mapa_shared(Thread *t, u64 address, u32 rank);
u64 mapa_generic(Thread *t, u64 generic, u32 rank);
u32 getctarank_shared(Thread *t, u64 address);
u32 getctarank_generic(Thread *t, u64 generic);

// ---- mbarriers; `at` is a shared::cluster address
enum { MBARRIER_DROP = 1, MBARRIER_EXPECT = 2, MBARRIER_NO_COMPLETE = 4, MBARRIER_RELAXED = 8, MBARRIER_PARITY = 16, MBARRIER_TRY = 32 };
void mbarrier_init(Thread *t, u32 at, u32 count, u32 site);
void mbarrier_inval(Thread *t, u32 at, u32 site);
u64 mbarrier_arrive(Thread *t, u32 at, u32 count, u32 bytes, u32 flags, u32 site);  // the state before
void mbarrier_expect_tx(Thread *t, u32 at, u32 bytes, u32 site);
void mbarrier_complete_tx(Thread *t, u32 at, u32 bytes, u32 site);
u8 mbarrier_test(Thread *t, u32 at, u64 state_or_parity, u32 flags, u32 site);      // waits a while with MBARRIER_TRY
INL u32 mbarrier_pending_count(u64 state) { return state & 0xfffff; }
void cp_async_mbarrier(Thread *t, u32 at, u32 counted, u32 site);                   // cp.async.mbarrier.arrive; counted: .noinc

// ---- bulk copies
enum { NO_MULTICAST = -1 };
void bulk_load(Thread *t, u32 to, u64 from, u32 bytes, u32 barrier, s32 multicast, u32 site);      // global → shared
void bulk_to_cluster(Thread *t, u32 to, u32 from, u32 bytes, u32 barrier, u32 site);               // shared → another block's
void bulk_store(Thread *t, u64 to, u32 from, u32 bytes, u32 site);                                 // shared → global
typedef enum { REDUCE_NONE, REDUCE_add, REDUCE_min, REDUCE_max, REDUCE_inc, REDUCE_dec, REDUCE_and, REDUCE_or, REDUCE_xor } Reduce;
typedef enum { REDUCE_u32, REDUCE_s32, REDUCE_u64, REDUCE_s64, REDUCE_f16, REDUCE_bf16, REDUCE_f32, REDUCE_f64, REDUCE_f32_ftz } ReduceType;
void bulk_reduce(Thread *t, u64 to, u32 from, u32 bytes, Reduce op, ReduceType type, u32 site);
void tensor_load(Thread *t, u32 to, u64 map, u32 rank, const s32 *at, u32 barrier, s32 multicast, u32 site);
void tensor_store(Thread *t, u64 map, u32 rank, const s32 *at, u32 from, Reduce op, u32 site);
void bulk_commit(Thread *t);
void bulk_wait(Thread *t, u32 pending, u32 read_only);
void fence_proxy(Thread *t, u32 site);

// ---- stores that complete at an mbarrier: st.async, red.async
void store_async(Thread *t, u32 to, const void *value, u32 bytes, Reduce op, ReduceType type, u32 barrier, u32 site);

// ---- wgmma
typedef struct WgmmaKind {
    u16 n, k;
    u8 a, b, d;               // Element of tensor.h
    u8 saturate, negate_a, negate_b, mn_major_a, mn_major_b;
    u8 from_registers;        // a
} WgmmaKind;
// d: the lane's accumulators, in and out; a: the descriptor, or the lane's registers
void wgmma(Thread *t, const WgmmaKind *kind, u32 *d, const void *a, u64 b, u32 scale_d, u32 site);
// Before an ordinary instruction that reads (or writes) registers of the wgmmas at `sites`: they must have been waited for.
void wgmma_touched(Thread *t, const u32 *sites, u32 n, u32 written, u32 site);
void wgmma_fence(Thread *t, u32 site);
void wgmma_commit(Thread *t, u32 site);
void wgmma_wait(Thread *t, u32 pending, u32 site);

// ---- shared memory of the cluster
void cluster_arrive(Thread *t, u32 site);
void cluster_arrive_relaxed(Thread *t, u32 site);
void cluster_wait(Thread *t, u32 site);
#define EMU_CLUSTER_(T) T ld_cluster_##T(Thread *, u32, u32, Order); void st_cluster_##T(Thread *, u32, T, u32, Order);
EMU_WIDTHS_(EMU_CLUSTER_)
void ld_cluster_n(Thread *, u32 n, u32 at, u32 site, void *to, Order);
void st_cluster_n(Thread *, u32 n, u32 at, u32 site, const void *from, Order);
u8 *at_cluster(Thread *, u32 n, u32 at, u32 site, Order);
#define LD_CLUSTER(T, a, site) ld_cluster_##T(t, a, site, ORD_WEAK)
#define ST_CLUSTER(T, a, v, site) st_cluster_##T(t, a, v, site, ORD_WEAK)
#define LDO_CLUSTER(T, a, site, ord) ld_cluster_##T(t, a, site, ord)
#define STO_CLUSTER(T, a, v, site, ord) st_cluster_##T(t, a, v, site, ord)
#define LD_CLUSTER_N(n, a, site, to) ld_cluster_n(t, n, a, site, to, ORD_WEAK)
#define ST_CLUSTER_N(n, a, site, from) st_cluster_n(t, n, a, site, from, ORD_WEAK)
#define LDO_CLUSTER_N(n, a, site, to, ord) ld_cluster_n(t, n, a, site, to, ord)
#define STO_CLUSTER_N(n, a, site, from, ord) st_cluster_n(t, n, a, site, from, ord)
#define AT_CLUSTER(n, a, site, ord) at_cluster(t, n, a, site, ord)
#endif
