// What a generated kernel sees of the emulator: the types of a running thread, warp, block and launch, and every call into
// the runtime. A kernel includes this file only. CHECK chooses checked memory accesses, COUNT dynamic counters.
// Names ending in _ and the members marked "runtime" are not for generated code.
#ifndef EMU_CORE_H
#define EMU_CORE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "the emulator's fibers are written for Linux on x86-64 and aarch64"
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned __int128 u128;

#define EMU_ABI 4          // raised with every change of a struct below; Kernel.abi and Launch.abi must equal it
#define INL static inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef struct Thread Thread;
typedef struct Warp Warp;
typedef struct Block Block;
typedef struct Launch Launch;
typedef struct Kernel Kernel;

// ---- what the generated code defines: one `const Kernel emu_kernel`
enum {
    KERNEL_FIBERS = 1,    // can block: barriers, collectives, activemask, ordered loads, cas loops, nanosleep …
    KERNEL_RESIDENT = 2,  // waits for other blocks (spins on global memory): several blocks run interleaved
};
struct Kernel {
    u32 abi;              // EMU_ABI
    u32 flags;            // KERNEL_…
    const char *name;     // PTX name of the entry
    void (*entry)(Thread *t, u8 *params);
    u32 param_bytes;
    u32 static_shared;    // bytes; dynamic shared memory follows at the first multiple of 16 (the emitter's layout)
    u32 local_bytes;      // the most that local_push hands out at once along any call chain; 0: no local memory
    u32 stack_bytes;      // C stack of a fiber; 0: 64 KiB
    u32 stack_spare;      // of it for the last function called and the runtime; 0: 16 KiB
    u32 global_granule;   // bytes (1, 2 or 4) that races in global memory are told apart by: the smallest access of the kernel
    u32 shared_granule;   // the same for shared memory
    u32 sites;            // sites are below this
    u32 counters;         // entries of Launch.counts that the code uses (basic blocks)
    u32 red_zones;        // parts of the shared window between its variables, which are nobody's
    const struct RedZone { u32 from, to; } *red;
};

// ---- what Python fills in (ctypes)
enum { SCHEDULE_FORWARD = 0, SCHEDULE_REVERSE = 1, SCHEDULE_RANDOM = 2 };
enum { STATE_INIT = 1, STATE_READ = 2, STATE_WRITTEN = 4 };  // bits of Allocation.state; read: of what was there before
typedef struct Allocation {
    u64 base, size;       // bytes; sorted by base, not overlapping
    u8 *state;            // one byte a byte, STATE_…; NULL: all initialised and nobody asks what was touched. Kept by the caller
    u32 read_only;        // stores are out of bounds (constant memory)
    u32 name;             // the caller's
    void *cells;          // runtime
    u64 shadow;           // runtime: where the cells would begin if the allocation were all of memory
} Allocation;

typedef struct Finding {
    u32 code;             // 8001 …
    u32 site, other_site; // other_site: of the access or wait it clashes with, else NO_SITE
    u32 block, thread;    // linear, of the thread that saw it
    u32 other_block, other_thread;
    u32 size;             // bytes of the access
    u64 addr;             // global: host address; shared: offset
    u64 count;            // how often this (code, site, other_site) happened
    char what[128];       // one phrase
} Finding;
#define NO_SITE 0xffffffffu

enum { END_DONE = 0, END_STOPPED = 1, END_BAD_LAUNCH = 2 };  // results of emu_run; STOPPED: trap, assert, deadlock, budget
struct Launch {
    u32 abi;              // EMU_ABI
    u32 schedule;         // SCHEDULE_…
    u64 seed;             // of SCHEDULE_RANDOM
    u32 grid[3], block[3], cluster[3];
    u32 shared_bytes;     // static + dynamic, with what lies between
    u32 resident;         // blocks that run interleaved; 0: 1, or 64 for KERNEL_RESIDENT (a cooperative launch gives all)
    u32 dynamic_shared;   // bytes, for %dynamic_smem_size
    u32 total_shared;     // bytes, for %total_smem_size: what a GPU would set aside
    u8 *params;
    const u64 *symbols;   // host addresses of module variables, by the emitter's index
    Allocation *allocations;
    u32 n_allocations;
    u32 stopped_by;       // out: the code that ended the launch, or 0
    s64 budget;           // back edges and yields that are left; in and out
    Finding *findings;
    u32 max_findings, n_findings;  // n_findings: in (0) and out
    u64 *counts;          // Kernel.counters entries, with COUNT
    char *output;         // printf
    u64 max_output, n_output;      // n_output: in and out; text beyond is cut
    u64 clock;            // in and out: the next value of %clock
    u64 asked;            // an address of global memory, 0: none; out, with CHECK: the thread that wrote there last
    u32 wrote, wrote_block, wrote_thread, wrote_site;  // wrote: 1 where it is known; the rest linear, as in Finding
    u64 workspace;        // of a cooperative launch: where its blocks meet (%envreg1, %envreg2); else 0
    void *runtime;        // runtime
};

// ---- a running launch
struct Thread {
    u8 *shared;           // = block->shared
    Block *block;
    Warp *warp;
    Launch *launch;
    u32 tid[3];
    u32 linear;           // in the block
    u32 lane, lane_bit;
    u8 *local_top;        // first free byte of the arena; local memory is [local, local_top)
    u8 *local, *local_end;
    u8 *local_state;      // runtime: 1 for each byte of local memory that was written
    u8 *stack_end;        // calls go no further: below lies what the called function and the runtime need
    void *fiber;          // runtime
    // runtime, copied here for the checks of accesses:
    u32 shared_bytes, shared_shift, global_shift, sites;
    u8 *shared_state;
    struct Cell *shared_cells;
    Allocation **site_allocation;
};
struct Block {
    u8 *shared;           // the shared window, 1024-byte aligned; poisoned when the block starts
    u32 shared_bytes;
    u32 linear;
    u32 ctaid[3];
    u32 threads, warps, live;
    Launch *launch;
    u64 *counts;          // = launch->counts
    const Kernel *kernel;
    void *runtime;        // runtime
};

// ---- memory. addr: global and generic and local are host addresses, shared is an offset. T: u8 u16 u32 u64.
// An Order is one of the first with any of the rest: a scope, if it is not the device's, and what becomes of a value that is
// loaded (verify/emulator/emit/strong.py).
typedef enum {
    ORD_WEAK, ORD_VOLATILE, ORD_RELAXED, ORD_ACQUIRE, ORD_RELEASE, ORD_ACQ_REL, ORD_CONST,
    ORD_KIND = 7, IN_CTA = 8, IN_CLUSTER = 16,
    AS_DATA = 32,    // a load: its value goes into data and is never tested
    IN_UPDATE = 64,  // a load whose value is changed and stored again; such a store
} Order;
#include "mem.h"
u32 left_variable(Thread *t, u32 a, u32 bytes, u32 site);
INL u32 in_variable(Thread *t, u32 a, u32 bytes, u32 from, u32 to, u32 site) {
    return LIKELY(a >= from && (u64)a + bytes <= to) ? a : left_variable(t, a, bytes, site);
}
u8 *local_push(Thread *t, u32 bytes, u32 align);  // at function entry; uninitialised
void local_pop(Thread *t, u8 *local);             // at function exit: what local_push returned

// ---- warp collectives. Every live lane of mask must come with the same mask and fn; fn then runs once. Waits.
typedef void (*Collective)(Warp *w, void **lanes, u32 mask, u32 site);
void collective(Thread *t, u32 mask, void *mine, u32 site, Collective fn);
Thread *warp_thread(Warp *w, u32 lane);
u32 warp_live(const Warp *w);                     // lanes that exist and did not exit
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
u32 shfl_sync(Thread *t, u32 mode, u32 value, u32 b, u32 c, u32 mask, u32 site, u8 *p);  // p may be NULL
u32 vote_ballot(Thread *t, u8 pred, u32 mask, u32 site);
u8 vote_any(Thread *t, u8 pred, u32 mask, u32 site);
u8 vote_all(Thread *t, u8 pred, u32 mask, u32 site);
u8 vote_uni(Thread *t, u8 pred, u32 mask, u32 site);
u32 match_any32(Thread *t, u32 value, u32 mask, u32 site);
u32 match_any64(Thread *t, u64 value, u32 mask, u32 site);
u32 match_all32(Thread *t, u32 value, u32 mask, u32 site, u8 *p);  // p may be NULL
u32 match_all64(Thread *t, u64 value, u32 mask, u32 site, u8 *p);
enum { REDUX_ADD, REDUX_MIN_S32, REDUX_MAX_S32, REDUX_MIN_U32, REDUX_MAX_U32, REDUX_AND, REDUX_OR, REDUX_XOR,
       REDUX_MIN_F32, REDUX_MAX_F32, REDUX_MIN_F32_ABS, REDUX_MAX_F32_ABS,
       REDUX_MIN_F32_NAN, REDUX_MAX_F32_NAN, REDUX_MIN_F32_ABS_NAN, REDUX_MAX_F32_ABS_NAN };
u32 redux(Thread *t, u32 op, u32 value, u32 mask, u32 site);
u32 elect(Thread *t, u32 mask, u32 site, u8 *p);  // the elected lane; *p: is it me
void bar_warp_sync(Thread *t, u32 mask, u32 site);
u32 activemask(Thread *t, u32 site);              // the lanes that wait at this activemask when the warp can go no further

// ---- block barriers. bar_… is the aligned form (bar.sync = barrier.sync.aligned), barrier_… the other. count 0: the block.
void bar_sync(Thread *t, u32 id, u32 count, u32 site);
void bar_arrive(Thread *t, u32 id, u32 count, u32 site);
u32 bar_red_popc(Thread *t, u32 id, u32 count, u8 pred, u32 site);
u8 bar_red_and(Thread *t, u32 id, u32 count, u8 pred, u32 site);
u8 bar_red_or(Thread *t, u32 id, u32 count, u8 pred, u32 site);
void barrier_sync(Thread *t, u32 id, u32 count, u32 site);
void barrier_arrive(Thread *t, u32 id, u32 count, u32 site);
u32 barrier_red_popc(Thread *t, u32 id, u32 count, u8 pred, u32 site);
u8 barrier_red_and(Thread *t, u32 id, u32 count, u8 pred, u32 site);
u8 barrier_red_or(Thread *t, u32 id, u32 count, u8 pred, u32 site);

// ---- order between threads by other means: what is released is known to those who acquire later
typedef struct SyncObject SyncObject;
SyncObject *sync_new(Launch *l);                  // freed with the launch
SyncObject *sync_at(Thread *t, const void *host); // the one of an address; made when missing
void sync_release(Thread *t, SyncObject *s);
void sync_acquire(Thread *t, SyncObject *s);
enum { SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPE_SYS };
void fence(Thread *t, u32 scope);                 // membar, fence.sc, fence.acq_rel

// ---- progress
void spin_yield(Thread *t, u32 site);              // after cas and exch; ordered loads call it themselves
void nanosleep(Thread *t);
// A waiting primitive in a loop of its own (mbarrier): others run until something changes. Costs budget.
#define WAIT_UNTIL(t, condition) do { while (!(condition)) spin_yield(t, NO_SITE); } while (0)
void out_of_budget_(Thread *t, u32 site) __attribute__((noreturn, cold));
INL void back_edge(Thread *t, u32 site) { if (UNLIKELY(--t->launch->budget < 0)) out_of_budget_(t, site); }
#ifdef COUNT
#define COUNT_BLOCK(index) (t->block->counts[index]++)
#else
#define COUNT_BLOCK(index) ((void)0)
#endif

// ---- ends
void trap_now(Thread *t, u32 site) __attribute__((noreturn));
void bad_call_(Thread *t, u32 site, const char *what) __attribute__((noreturn, cold));
void too_deep_(Thread *t) __attribute__((noreturn, cold));
// In the head of a function that may be under way more than once in a thread.
INL void call_depth(Thread *t) { if (UNLIKELY((u8 *)__builtin_frame_address(0) < t->stack_end)) too_deep_(t); }
// What a call through a register can reach; `takes` are the bytes of its returns and parameters.
struct Function { u64 at; const char *takes; };
INL u64 callee(Thread *t, u64 at, const char *takes, const struct Function *known, u32 n, u32 site) {
    for (u32 i = 0; i < n; i++) {
        if (known[i].at != at) continue;
        if (strcmp(known[i].takes, takes)) bad_call_(t, site, "a call through a pointer goes to a function with other parameters");
        return at;
    }
    bad_call_(t, site, "a call through a pointer goes to no function");
}
void assert_fail(Thread *t, u64 message, u64 file, u32 line, u64 func, u32 site) __attribute__((noreturn));
void thread_exit(Thread *t) __attribute__((noreturn));  // exit in any call depth; leaving the entry function does the same
void finding(Thread *t, u32 code, u32 site, u64 addr, u32 size, const char *what);
u32 emu_printf(Thread *t, u64 format, u64 args, u32 site);  // vprintf: generic addresses; the number of arguments printed

// ---- special registers that are no member of Thread, Block or Launch
INL u64 clock_now(Thread *t) { return t->launch->clock += 16; }  // %clock, %clock64, %globaltimer: it only ever rises
u32 warp_index(const Thread *t);                  // %warpid
INL u32 nwarpid_(const Thread *t) { return t->block->warps; }

// ---- asynchronous copies (cp.async). Done when waited for, so that a missing wait is seen. src_bytes < bytes: zeros follow.
void cp_async(Thread *t, u32 dst, u64 src, u32 bytes, u32 src_bytes, u32 site);
void cp_async_commit(Thread *t);
void cp_async_wait(Thread *t, u32 pending);       // wait_group N; the newest N groups may stay pending
void cp_async_wait_all(Thread *t);

#define EXPORT __attribute__((visibility("default")))
extern const Kernel emu_kernel EXPORT;
EXPORT int emu_run(const Kernel *k, Launch *l);
EXPORT void emu_rest(void);  // gives back what is kept for the next launch
#endif
