// Memory accesses of generated code. `t` (the Thread) is in scope; every argument is evaluated once. Checked: a bad load
// gives 0, a bad store is dropped. Unchecked: the raw access. Included by core.h.
#ifndef EMU_MEM_H
#define EMU_MEM_H

#define EMU_WIDTHS_(X, ...) X(u8, ##__VA_ARGS__) X(u16, ##__VA_ARGS__) X(u32, ##__VA_ARGS__) X(u64, ##__VA_ARGS__)

// The checked accesses, out of line: inlining them made the C compiler ten times slower.
#define EMU_DECLARE_(T) \
    T ld_global_##T(Thread *, u64, u32); void st_global_##T(Thread *, u64, T, u32); \
    T ld_shared_##T(Thread *, u32, u32); void st_shared_##T(Thread *, u32, T, u32); \
    T ld_local_##T(Thread *, u64, u32); void st_local_##T(Thread *, u64, T, u32); \
    T ld_generic_##T(Thread *, u64, u32); void st_generic_##T(Thread *, u64, T, u32); \
    T ldo_global_##T(Thread *, u64, u32, Order); void sto_global_##T(Thread *, u64, T, u32, Order); \
    T ldo_shared_##T(Thread *, u32, u32, Order); void sto_shared_##T(Thread *, u32, T, u32, Order); \
    T ldo_generic_##T(Thread *, u64, u32, Order); void sto_generic_##T(Thread *, u64, T, u32, Order);
EMU_WIDTHS_(EMU_DECLARE_)
#define EMU_DECLARE_N_(space, A) \
    void ld_##space##_n(Thread *, u32 n, A, u32 site, void *to, Order); \
    void st_##space##_n(Thread *, u32 n, A, u32 site, const void *from, Order); \
    u8 *at_##space(Thread *, u32 n, A, u32 site, Order);
EMU_DECLARE_N_(global, u64)
EMU_DECLARE_N_(shared, u32)
EMU_DECLARE_N_(local, u64)
EMU_DECLARE_N_(generic, u64)

// For copies and matrix operations: checks and records an access as if by thread t. The host place, or NULL after a bad one.
enum { ACCESS_READ = 1, ACCESS_WRITE = 2 };
u8 *access_global(Thread *t, u64 addr, u32 n, u32 kind, u32 site);
u8 *access_shared(Thread *t, u32 addr, u32 n, u32 kind, u32 site);
u8 *access_generic(Thread *t, u64 addr, u32 n, u32 kind, u32 site);

#ifdef CHECK
#define LD_GLOBAL(T, a, site) ld_global_##T(t, a, site)
#define ST_GLOBAL(T, a, v, site) st_global_##T(t, a, v, site)
#define LD_SHARED(T, a, site) ld_shared_##T(t, a, site)
#define ST_SHARED(T, a, v, site) st_shared_##T(t, a, v, site)
#define LD_LOCAL(T, a, site) ld_local_##T(t, a, site)
#define ST_LOCAL(T, a, v, site) st_local_##T(t, a, v, site)
#define LD_GENERIC(T, a, site) ld_generic_##T(t, a, site)
#define ST_GENERIC(T, a, v, site) st_generic_##T(t, a, v, site)
#define LD_GLOBAL_N(n, a, site, to) ld_global_n(t, n, a, site, to, ORD_WEAK)
#define ST_GLOBAL_N(n, a, site, from) st_global_n(t, n, a, site, from, ORD_WEAK)
#define LD_SHARED_N(n, a, site, to) ld_shared_n(t, n, a, site, to, ORD_WEAK)
#define ST_SHARED_N(n, a, site, from) st_shared_n(t, n, a, site, from, ORD_WEAK)
#define LD_LOCAL_N(n, a, site, to) ld_local_n(t, n, a, site, to, ORD_WEAK)
#define ST_LOCAL_N(n, a, site, from) st_local_n(t, n, a, site, from, ORD_WEAK)
#define LD_GENERIC_N(n, a, site, to) ld_generic_n(t, n, a, site, to, ORD_WEAK)
#define ST_GENERIC_N(n, a, site, from) st_generic_n(t, n, a, site, from, ORD_WEAK)
#else
#define LD_GLOBAL(T, a, site) (*(const T *)(u64)(a))
#define ST_GLOBAL(T, a, v, site) ((void)(*(T *)(u64)(a) = (v)))
#define LD_SHARED(T, a, site) (*(const T *)(t->shared + (u32)(a)))
#define ST_SHARED(T, a, v, site) ((void)(*(T *)(t->shared + (u32)(a)) = (v)))
#define LD_LOCAL LD_GLOBAL
#define ST_LOCAL ST_GLOBAL
#define LD_GENERIC LD_GLOBAL
#define ST_GENERIC ST_GLOBAL
#define LD_GLOBAL_N(n, a, site, to) ((void)memcpy(to, (const void *)(u64)(a), n))
#define ST_GLOBAL_N(n, a, site, from) ((void)memcpy((void *)(u64)(a), from, n))
#define LD_SHARED_N(n, a, site, to) ((void)memcpy(to, t->shared + (u32)(a), n))
#define ST_SHARED_N(n, a, site, from) ((void)memcpy(t->shared + (u32)(a), from, n))
#define LD_LOCAL_N LD_GLOBAL_N
#define ST_LOCAL_N ST_GLOBAL_N
#define LD_GENERIC_N LD_GLOBAL_N
#define ST_GENERIC_N ST_GLOBAL_N
#endif

// Ordered (volatile, relaxed, acquire, release): loads let other threads run first, so that a spin makes progress.
#define LDO_GLOBAL(T, a, site, ord) ldo_global_##T(t, a, site, ord)
#define STO_GLOBAL(T, a, v, site, ord) sto_global_##T(t, a, v, site, ord)
#define LDO_SHARED(T, a, site, ord) ldo_shared_##T(t, a, site, ord)
#define STO_SHARED(T, a, v, site, ord) sto_shared_##T(t, a, v, site, ord)
#define LDO_GENERIC(T, a, site, ord) ldo_generic_##T(t, a, site, ord)
#define STO_GENERIC(T, a, v, site, ord) sto_generic_##T(t, a, v, site, ord)
#define LDO_LOCAL(T, a, site, ord) LD_LOCAL(T, a, site)
#define STO_LOCAL(T, a, v, site, ord) ST_LOCAL(T, a, v, site)
#define LDO_GLOBAL_N(n, a, site, to, ord) ld_global_n(t, n, a, site, to, ord)
#define STO_GLOBAL_N(n, a, site, from, ord) st_global_n(t, n, a, site, from, ord)
#define LDO_SHARED_N(n, a, site, to, ord) ld_shared_n(t, n, a, site, to, ord)
#define STO_SHARED_N(n, a, site, from, ord) st_shared_n(t, n, a, site, from, ord)
#define LDO_GENERIC_N(n, a, site, to, ord) ld_generic_n(t, n, a, site, to, ord)
#define STO_GENERIC_N(n, a, site, from, ord) st_generic_n(t, n, a, site, from, ord)
#define LDO_LOCAL_N(n, a, site, to, ord) LD_LOCAL_N(n, a, site, to)
#define STO_LOCAL_N(n, a, site, from, ord) ST_LOCAL_N(n, a, site, from)

// An address in shared memory that comes from the variable at [from, to): 0xffffffff, which is nowhere, if it left it.
#ifdef CHECK
#define IN_VARIABLE(a, bytes, from, to, site) in_variable(t, a, bytes, from, to, site)
#else
#define IN_VARIABLE(a, bytes, from, to, site) (a)
#endif

// Atomics: a host pointer to read, change and write in place; a scratch place after a bad access, never NULL.
#ifdef CHECK
#define AT_GLOBAL(n, a, site, ord) at_global(t, n, a, site, ord)
#define AT_SHARED(n, a, site, ord) at_shared(t, n, a, site, ord)
#define AT_GENERIC(n, a, site, ord) at_generic(t, n, a, site, ord)
#else
#define AT_GLOBAL(n, a, site, ord) ((u8 *)(u64)(a))
#define AT_SHARED(n, a, site, ord) (t->shared + (u32)(a))
#define AT_GENERIC AT_GLOBAL
#endif

// Constant memory is a read-only allocation. Parameters lie in P and other arrays of the emitter's, who checks constant
// offsets; where a register holds the address, `known` are the n places (address, bytes) that it may lead to.
#ifdef CHECK
u8 *param_at(Thread *t, u64 a, u32 bytes, u32 site, const u64 (*known)[2], u32 n);
#define PARAM_AT(a, bytes, site, known) ((u64)param_at(t, a, bytes, site, known, sizeof known / sizeof *known))
#else
#define PARAM_AT(a, bytes, site, known) (a)
#endif
#define LD_CONST LD_GLOBAL
#define LD_CONST_N LD_GLOBAL_N
#define LD_PARAM(T, a, site) (*(const T *)(u64)(a))
#define ST_PARAM(T, a, v, site) ((void)(*(T *)(u64)(a) = (v)))
#define LD_PARAM_N(n, a, site, to) ((void)memcpy(to, (const void *)(u64)(a), n))
#define ST_PARAM_N(n, a, site, from) ((void)memcpy((void *)(u64)(a), from, n))
#endif
