// Inside the runtime: warps, the slots that resident blocks run in, and the running launch.
#ifndef EMU_ENGINE_H
#define EMU_ENGINE_H
#include "core.h"

enum { MAX_WARPS = 32, BARRIERS = 16, MOST_GUARDED_FIBERS = 30000, MOST_KEPT_FIBERS = 2048 };
enum { WAIT_NONE, WAIT_BARRIER, WAIT_COLLECTIVE, WAIT_ACTIVEMASK, WAIT_CLUSTER };

typedef struct Slot Slot;
typedef struct Runtime Runtime;
typedef struct AsyncCopies AsyncCopies;

typedef struct Fiber {
    void *sp;
    u8 *stack_top;
    u32 waits, site;        // what the thread waits for, and where
    u32 barrier, result;    // id of the barrier it waits at; what a barrier's reduction or activemask gave
    AsyncCopies *async;     // pending cp.async
    u32 last_load;          // site of the last ordered load + 1
    u32 n_changing;         // update.c
    struct Changing { u64 host; u32 writer; } changing[4];
} Fiber;

struct Warp {
    u32 index, exists, live, runnable, yielded;  // masks of lanes
    u32 waiting, at_activemask;
    u32 mixed, common;      // whether the waiting lanes came with different masks or functions; one of them
    Slot *slot;
    Thread *threads;        // of lane 0
    u32 want[32];           // per waiting lane: its mask …
    void *mine[32];
    Collective fn[32];
    // Order of accesses (order.h). Bounds are stamps: what is below is known.
    u32 segment;            // stamp of the running segment, 0: none yet
    u32 base;               // every access of the block below is known to the warp
    u32 lane_base;          // accesses of the warp's own lanes below are known to each other
    u32 first;              // no access of the block is below; ~0 when blocks run interleaved
    u32 foreign;            // all below are other blocks'; 0 when blocks run interleaved
    u32 plain;              // base is all that the warp knows: no collective and no partial barrier since
    struct Fenced { u32 own, base, acquired; } fenced, fenced_wide;  // what the last fence covers: of the warp, of the block,
                            // of others; and the last one that reaches beyond the block
    u32 *seen;              // [32][32]: what a lane knows of another, beyond lane_base; NULL: no partial collective yet
};

typedef struct Barrier {
    u32 expected, arrived;  // threads; expected 0: all of the block
    u32 lanes[MAX_WARPS];   // that wait
    u32 site[MAX_WARPS];    // where the first lane of the warp arrived (aligned only), NO_SITE: not yet
    u32 first_site, first_thread;
    u32 popc, all, any, reduces;
    u32 base, known[MAX_WARPS];   // order: what arrivals know, joined
} Barrier;

struct Slot {
    Block block;
    Runtime *rt;
    u32 index, active, ready;     // ready: warps with runnable lanes
    u32 open_barriers;            // mask of those at which somebody arrived
    Warp warps[MAX_WARPS];
    Thread *threads;
    Fiber *fibers;
    Barrier barriers[BARRIERS];
    u8 *stacks, *locals;
    u8 *shared_state;             // CHECK: STATE_INIT for each byte of shared memory
    struct Cell *cells;           // CHECK: shadow of shared memory
    u32 (*known)[MAX_WARPS];      // order: known[x][y]: what warp x knows of y's accesses, beyond base; NULL: not used yet
    struct AcquiredList *acquired;  // order: what was acquired from other blocks (or lanes)
};

struct Runtime {
    Launch *launch;
    const Kernel *kernel;
    Slot **slots;
    u32 n_slots, fibers, threads, warps;
    u32 cluster;                  // blocks of one; they run in neighbouring slots
    u64 next_block, n_blocks;
    u64 step, offset;             // block order of the random schedule
    void *main_sp;
    Thread *running;
    u32 stopped;
    u64 random;
    Allocation **site_allocation; // CHECK: last hit by site
    u32 global_shift, shared_shift;
    u32 next_stamp;               // order
    u32 any_fence, any_narrow;    // a fence, one of the block only
    struct Segment *segments;
    u32 max_segments;
    struct SyncTable *sync;
    struct Hopper *hopper;        // asynchronous work (hopper_engine.h); NULL: none yet
    u8 scratch[64] __attribute__((aligned(64)));
};

// sched.c
void emu_switch(void **save, void *to);
void make_runnable(Warp *w, u32 lanes);
void block_here(Thread *t, u32 waits, u32 site);  // t waits; returns when somebody made it runnable
u32 before_load(Thread *t, u32 site);             // of an ordered load: others may run; 1: they run after it, by spin_yield
void give_way(Thread *t);                         // t stays runnable, whoever is first by the schedule goes on
void stop_launch(Thread *t, u32 code) __attribute__((noreturn));
void leave_thread(Thread *t) __attribute__((noreturn));
Thread *choose(Runtime *rt);
void prepare_fiber(Thread *t, void (*main)(void));

// warp.c
void lane_left(Warp *w);                          // after a lane exited: collectives may be complete
int release_activemask(Warp *w);
void order_lanes(Warp *w, u32 lanes);             // order.c: these lanes know each other's accesses

// barrier.c
void thread_left_barriers(Slot *s);               // after a thread exited
void start_barriers(Slot *s);

// report.c
void finding_from(Thread *t, u32 code, u32 site, u64 addr, u32 size, u32 other_site, u32 other_block, u32 other_thread,
                  const char *what);
void report_deadlock(Runtime *rt);

// async.c
void free_async(Fiber *f);
void start_async(Fiber *f);

// hopper*.c
void hopper_start_block(Slot *s);
void hopper_thread_exit(Thread *t);
void hopper_end(Runtime *rt);

// order.c: empty where nothing is checked
#ifdef CHECK
void order_start_launch(Runtime *rt);
void order_end_launch(Runtime *rt);
void order_start_block(Slot *s);
void order_end_slot(Slot *s);
void order_arrive(Thread *t, Barrier *b);
void order_barrier(Slot *s, Barrier *b, u32 whole);
#else
INL void order_start_launch(Runtime *rt) {}
INL void order_end_launch(Runtime *rt) {}
INL void order_start_block(Slot *s) {}
INL void order_end_slot(Slot *s) {}
INL void order_arrive(Thread *t, Barrier *b) {}
INL void order_barrier(Slot *s, Barrier *b, u32 whole) {}
#endif

INL Slot *slot_of(const Thread *t) { return (Slot *)t->block; }
INL Runtime *runtime_of(const Thread *t) { return (Runtime *)t->launch->runtime; }
INL Fiber *fiber_of(const Thread *t) { return (Fiber *)t->fiber; }
INL int is_strong(Order o) { return (o & ORD_KIND) != ORD_WEAK && (o & ORD_KIND) != ORD_CONST; }
INL int is_release(Order o) { return (o & ORD_KIND) == ORD_RELEASE || (o & ORD_KIND) == ORD_ACQ_REL; }
INL u32 scope_of(Order o) { return o & IN_CTA ? SCOPE_CTA : o & IN_CLUSTER ? SCOPE_CLUSTER : SCOPE_GPU; }
INL u64 next_random(Runtime *rt) {  // xorshift64*
    u64 x = rt->random;
    x ^= x >> 12; x ^= x << 25; x ^= x >> 27;
    rt->random = x;
    return (x * 0x2545F4914F6CDD1Dull) >> 32;
}
#endif
