// Clusters: the barrier of their blocks, and accesses to each other's shared memory.
#include "hopper_engine.h"
#include "order.h"

// ---- barrier.cluster: one for each cluster, kept with the slot of its first block
typedef struct ClusterBarrier { u32 arrived, phase; } ClusterBarrier;

static ClusterBarrier *barrier_of(const Thread *t) {
    Slot *first = cluster_slot(t, 0);
    return (ClusterBarrier *)&hopper_of(runtime_of(t))->cluster_barriers[first->index];
}

static u32 cluster_blocks(const Thread *t) { return t->launch->cluster[0] * t->launch->cluster[1] * t->launch->cluster[2]; }

// Opens the barrier when all threads that are left have arrived; `leaving` of them are about to exit.
static void open_when_complete(Thread *t, ClusterBarrier *b, u32 leaving) {
    u32 live = 0, blocks = cluster_blocks(t);
    for (u32 r = 0; r < blocks; r++) live += cluster_slot(t, r)->block.live;
    if (!b->arrived || b->arrived < live - leaving) return;
    b->arrived = 0;
    b->phase++;
    for (u32 r = 0; r < blocks; r++) {
        Slot *s = cluster_slot(t, r);
        for (u32 i = 0; i < runtime_of(t)->threads; i++)
            if (fiber_of(&s->threads[i])->waits == WAIT_CLUSTER) make_runnable(s->threads[i].warp, s->threads[i].lane_bit);
    }
}

static void arrive(Thread *t, u32 site) {
    ClusterBarrier *b = barrier_of(t);
    ThreadAsync *mine = thread_async(t);
    if (UNLIKELY(mine->cluster_arrived)) {
        finding(t, 8022, site, 0, 0, "a thread arrives twice at the cluster barrier without a wait between");
        return;
    }
    mine->cluster_arrived = 1;
    mine->cluster_phase = b->phase;
    b->arrived++;
    open_when_complete(t, b, 0);
}

void cluster_arrive(Thread *t, u32 site) {
    sync_release(t, sync_at(t, barrier_of(t)));
    arrive(t, site);
}

void cluster_arrive_relaxed(Thread *t, u32 site) {
    sync_store(t, barrier_of(t));  // what a fence covers
    arrive(t, site);
}

void cluster_wait(Thread *t, u32 site) {
    ClusterBarrier *b = barrier_of(t);
    ThreadAsync *mine = thread_async(t);
    if (UNLIKELY(!mine->cluster_arrived)) {
        finding(t, 8022, site, 0, 0, "a thread waits at the cluster barrier without having arrived");
        return;
    }
    while (b->phase == mine->cluster_phase) block_here(t, WAIT_CLUSTER, site);
    mine->cluster_arrived = 0;
    sync_acquire(t, sync_at(t, b));
}

void cluster_thread_exit(Thread *t) {
    ClusterBarrier *b = barrier_of(t);
    // A thread that arrived and exits without the wait stays counted among the arrived.
    if (b->arrived && !thread_async(t)->cluster_arrived) open_when_complete(t, b, 1);
}

// ---- accesses to a shared::cluster address
static u8 *remote(Thread *t, u32 at, u32 n, u32 kind, u32 site) {
    Place p;
    if (!find_place(t, at, n, n, site, &p)) return NULL;
    touch_place(t, p, n, kind, site);
    return host_of(p);
}

void ld_cluster_n(Thread *t, u32 n, u32 at, u32 site, void *to, Order o) {
    u32 late = is_strong(o) && before_load(t, site);
    const u8 *p = remote(t, at, n, ACCESS_READ, site);
    if (p) memcpy(to, p, n);
    else memset(to, 0, n);
    if (p && is_strong(o)) sync_load(t, p);
    if (late) spin_yield(t, site);
}

void st_cluster_n(Thread *t, u32 n, u32 at, u32 site, const void *from, Order o) {
    u8 *p = remote(t, at, n, ACCESS_WRITE, site);
    if (is_release(o)) order_fence(t, scope_of(o));
    if (!p) return;
    if (is_strong(o)) sync_store(t, p);
    memcpy(p, from, n);
}

u8 *at_cluster(Thread *t, u32 n, u32 at, u32 site, Order o) {
    Place p;
    if (!find_place(t, at, n, n, site, &p)) return memset(runtime_of(t)->scratch, 0, sizeof runtime_of(t)->scratch);
    if (p.slot == slot_of(t)) return at_shared(t, n, p.offset, site, o);
    touch_atomically(t, p, n, site);
    if (is_release(o)) order_fence(t, scope_of(o));
    sync_load(t, host_of(p));
    sync_store(t, host_of(p));
    return host_of(p);
}

#define SCALARS(T) \
    T ld_cluster_##T(Thread *t, u32 at, u32 site, Order o) { \
        T v; \
        ld_cluster_n(t, sizeof v, at, site, &v, o); \
        return v; \
    } \
    void st_cluster_##T(Thread *t, u32 at, T v, u32 site, Order o) { st_cluster_n(t, sizeof v, at, site, &v, o); }
EMU_WIDTHS_(SCALARS)
