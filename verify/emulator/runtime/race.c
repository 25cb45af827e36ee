// Segments, and the slow paths of the race checks. What goes unseen: the third and later of several readers that are
// unordered among themselves when the first two are ordered before the write; what releases_ over-approximates (order.c).
#ifdef CHECK
#include "order.h"
#include <stdlib.h>
#include <sys/mman.h>

enum { LAST_STAMP = 1 << 30, HUGE = 2 << 20 };

static u64 cells_bytes(const Runtime *rt, const Allocation *a) {
    return (((a->size >> rt->global_shift) + 16) * sizeof(Cell) + HUGE - 1) & ~(HUGE - 1ull);
}

static u32 shift_of(u32 granule) { return granule >= 4 ? 2 : granule == 2; }

void order_start_launch(Runtime *rt) {
    Launch *l = rt->launch;
    static Allocation nowhere;  // never hit
    rt->global_shift = shift_of(rt->kernel->global_granule);
    rt->shared_shift = shift_of(rt->kernel->shared_granule);
    rt->next_stamp = 64;
    rt->site_allocation = malloc((rt->kernel->sites + 1) * sizeof *rt->site_allocation);
    for (u32 i = 0; i <= rt->kernel->sites; i++) rt->site_allocation[i] = &nowhere;
    for (u32 i = 0; i < l->n_allocations; i++) {
        Allocation *a = &l->allocations[i];
        a->cells = NULL;
        if (a->read_only || !a->size) continue;
        void *p = mmap(NULL, cells_bytes(rt, a), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;  // races in this allocation go unseen
        if (cells_bytes(rt, a) >= 2 * HUGE && a->size < 1ull << 30) madvise(p, cells_bytes(rt, a), MADV_HUGEPAGE);
        a->cells = p;
    }
    for (u32 i = 0; i < rt->n_slots; i++) {
        Slot *s = rt->slots[i];
        s->shared_state = calloc(1, s->block.shared_bytes + 16);
        s->cells = calloc((s->block.shared_bytes >> rt->shared_shift) + 1, sizeof(Cell));
        for (u32 k = 0; k < (rt->fibers ? rt->threads : 1); k++) {
            Thread *t = &s->threads[k];
            t->shared_bytes = s->block.shared_bytes;
            t->shared_shift = rt->shared_shift;
            t->global_shift = rt->global_shift;
            t->sites = rt->kernel->sites;
            t->shared_state = s->shared_state;
            t->shared_cells = s->cells;
            t->site_allocation = rt->site_allocation;
        }
    }
}

void order_end_launch(Runtime *rt) {
    for (u32 i = 0; rt->site_allocation && i < rt->launch->n_allocations; i++) {
        Allocation *a = &rt->launch->allocations[i];
        if (a->cells) munmap(a->cells, cells_bytes(rt, a));
        a->cells = NULL;
    }
    free(rt->site_allocation);
    free(rt->segments);
    free_syncs(rt);
}

void order_end_slot(Slot *s) {
    free(s->shared_state);
    free(s->cells);
    free(s->known);
    forget_acquired(s);  // a published list is freed with the table
    if (s->acquired) free_acquired(s->acquired);
    for (u32 i = 0; i < MAX_WARPS; i++) free(s->warps[i].seen);
}

// Stamps only rise, so what older blocks left in the slot needs no clearing: it lies below the new base.
void order_start_block(Slot *s) {
    Runtime *rt = s->rt;
    u32 now = rt->next_stamp;
    forget_acquired(s);
    memset(s->shared_state, 0, s->block.shared_bytes);
    for (u32 i = 0; i < rt->warps; i++) {
        Warp *w = &s->warps[i];
        w->segment = w->fenced_own = w->fenced_base = w->fenced_acquired = 0;
        w->base = w->lane_base = now;
        w->first = rt->n_slots == 1 ? now : ~0u;
        w->foreign = rt->n_slots == 1 ? now : 0;
        w->plain = 1;
    }
    forget_syncs(rt, s);
}

// Numbers are used up: all of the past counts as known.
static void forget_all(Runtime *rt) {
    for (u32 i = 0; i < rt->launch->n_allocations; i++) {
        Allocation *a = &rt->launch->allocations[i];
        if (a->cells) madvise(a->cells, cells_bytes(rt, a), MADV_DONTNEED);
    }
    for (u32 i = 0; i < rt->n_slots; i++) {
        Slot *s = rt->slots[i];
        memset(s->cells, 0, ((s->block.shared_bytes >> rt->shared_shift) + 1) * sizeof(Cell));
        forget_acquired(s);
        if (s->known) memset(s->known, 0, MAX_WARPS * sizeof *s->known);
        for (u32 k = 0; k < BARRIERS; k++) {
            s->barriers[k].base = 0;
            memset(s->barriers[k].known, 0, sizeof s->barriers[k].known);
        }
        for (u32 k = 0; k < MAX_WARPS; k++) {
            Warp *w = &s->warps[k];
            w->segment = w->fenced_own = w->fenced_base = w->fenced_acquired = 0;
            w->base = w->lane_base = 64;
            w->first = rt->n_slots == 1 ? 64 : ~0u;
            w->foreign = rt->n_slots == 1 ? 64 : 0;
            if (w->seen) memset(w->seen, 0, 32 * 32 * sizeof *w->seen);
        }
    }
    forget_syncs(rt, NULL);
    rt->next_stamp = 64;
}

u32 new_segment(Thread *t) {
    Runtime *rt = runtime_of(t);
    if (rt->next_stamp >= LAST_STAMP) forget_all(rt);
    u32 i = rt->next_stamp >> 6;
    if (i >= rt->max_segments) {
        rt->max_segments = i * 2 > 4096 ? i * 2 : 4096;
        rt->segments = realloc(rt->segments, rt->max_segments * sizeof *rt->segments);
        if (!rt->segments) abort();
    }
    rt->segments[i] = (Segment){t->block->linear, t->warp->index};
    t->warp->segment = rt->next_stamp;
    rt->next_stamp += 64;
    return t->warp->segment;
}

static int before(Thread *t, u32 stamp, u32 me, u32 global) {
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    if (in_order(w, stamp, me, global)) return 1;
    if (same_segment(stamp, me)) return same_thread(stamp, me);
    Segment g = s->rt->segments[stamp >> 6];
    u32 lane = stamp >> 1 & 31;
    if (g.block == s->block.linear) {
        if (stamp < w->base) return 1;
        if (g.warp == w->index) {
            if (lane == t->lane || stamp < w->lane_base) return 1;
            if (w->seen && stamp < w->seen[t->lane * 32 + lane]) return 1;
        } else if (s->known && stamp < s->known[w->index][g.warp]) return 1;
    }
    return s->acquired && acquired_knows(t, g.block, g.warp, stamp);
}

static void race(Thread *t, const Access *a, u32 code, u32 stamp, u32 site, const char *what) {
    Segment g = runtime_of(t)->segments[stamp >> 6];
    finding_from(t, code, a->site, a->addr, a->n, site == 0xffff ? NO_SITE : site, g.block, g.warp * 32 + (stamp >> 1 & 31), what);
}

#define STRONG_PAIR(x, y) ((x) & (y) & 1)  // atomic or ordered both: no race

static void slow_read(Thread *t, Cell *c, const Access *a) {
    u32 me = a->me;
    if (c->w && !same_thread(c->w, me) && !STRONG_PAIR(c->w, me) && !before(t, c->w, me, a->global))
        race(t, a, a->global == 1 ? 8012 : 8011, c->w, c->ws, "read of what another thread wrote, unordered");
    if (same_thread(c->r, me)) return;
    if (!c->r || before(t, c->r, me, a->global)) {
        c->r = me;
        c->rs = a->site < 0xffff ? a->site : 0xffff;
        return;
    }
    if (!c->r2 || before(t, c->r2, me, a->global) || (same_segment(c->r2, c->r) && !same_segment(c->r, me))) c->r2 = me;
}

static void slow_write(Thread *t, Cell *c, const Access *a) {
    u32 me = a->me, kind = a->global == 1 ? 8012 : 8011;
#define CLASHES(x) ((x) && !same_thread(x, me) && !STRONG_PAIR(x, me) && !before(t, x, me, a->global))
    if (CLASHES(c->r)) race(t, a, kind, c->r, c->rs, "write of what another thread read, unordered");
    else if (CLASHES(c->r2)) race(t, a, kind, c->r2, 0xffff, "write of what another thread read, unordered");
    if (CLASHES(c->w)) {
        if (a->stored && !memcmp(a->stored, a->host, a->n))
            race(t, a, 8013, c->w, c->ws, "two threads write the same value, unordered");
        else race(t, a, kind, c->w, c->ws, "two threads write, unordered");
    }
    *c = (Cell){.w = me, .ws = a->site < 0xffff ? a->site : 0xffff};
}

void slow_access(Thread *t, Cell *c, u32 granules, u32 write, const Access *a) {
    for (; granules; granules--, c++) {
        if (quick(t->warp, c, a->me, a->site, a->global, write)) continue;
        if (write) slow_write(t, c, a);
        else slow_read(t, c, a);
    }
}
#endif
