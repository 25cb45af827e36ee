// Updates that are no atomics: a thread loads a value with an ordered load, changes it and stores it again. Where another
// thread stored in between, unordered, its store is lost, though no two accesses are a race by themselves. The emitter says
// which loads and stores belong together (verify/emulator/emit/strong.py).
#ifdef CHECK
#include "order.h"

// The shadow of a host address; *global as in Access. NULL: it has none.
static Cell *cell_at(Thread *t, u64 host, u32 *global) {
    u64 offset = host - (u64)t->shared;
    Launch *l = t->launch;
    *global = offset >= t->shared_bytes;
    if (!*global) return t->shared_cells + (offset >> t->shared_shift);
    for (u32 i = 0; i < l->n_allocations; i++) {
        Allocation *a = &l->allocations[i];
        if (host - a->base < a->size) return a->cells ? cell_of(a, host, t->global_shift) : NULL;
    }
    return NULL;
}

void update_load(Thread *t, const void *host) {
    Fiber *f = fiber_of(t);
    u32 global, i = 0, n = f->n_changing < 4 ? f->n_changing : 4;
    Cell *c = cell_at(t, (u64)host, &global);
    if (!c) return;
    while (i < n && f->changing[i].host != (u64)host) i++;
    if (i == n) i = f->n_changing++ & 3;
    f->changing[i] = (struct Changing){(u64)host, c->w};
}

// Before the store is noted and done.
void update_store(Thread *t, u64 host, u32 n, u64 addr, const void *from, u32 site) {
    Fiber *f = fiber_of(t);
    u32 global, i = 0, known = f->n_changing < 4 ? f->n_changing : 4, me;
    while (i < known && f->changing[i].host != host) i++;
    if (i == known) return;
    u32 writer = f->changing[i].writer;
    f->changing[i].host = 0;
    Cell *c = cell_at(t, host, &global);
    if (!c || !c->w || same_thread(c->w, writer) || c->w == RED || !memcmp(from, (const void *)host, n)) return;
    me = stamp_of(t, KIND_WIDE);
    Segment g = runtime_of(t)->segments[segment_of(c->w)];
    u32 own = g.block == t->block->linear && g.warp == t->warp->index && lane_of(c->w) == t->lane;
    if (own || before(t, c->w, me, global)) return;
    finding_from(t, 8014, site, addr, n, c->ws == 0xffff ? NO_SITE : c->ws, g.block, g.warp * 32 + lane_of(c->w),
                 "an update undoes another thread's store");
}
#endif
