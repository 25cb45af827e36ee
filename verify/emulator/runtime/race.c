// Segments, and the slow paths of the race checks. What goes unseen: the third and later of several readers that are
// unordered among themselves when the first two are ordered before the write; what releases_ over-approximates (order.c).
#ifdef CHECK
#include "order.h"
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE = 2 << 20 };
#define LAST_STAMP 0xff000000u

static u64 cells_bytes(const Runtime *rt, const Allocation *a) {
    return (((a->size >> rt->global_shift) + 16) * sizeof(Cell) + HUGE - 1) & ~(HUGE - 1ull);
}

static u32 shift_of(u32 granule) { return granule >= 4 ? 2 : granule == 2; }

void order_start_launch(Runtime *rt) {
    Launch *l = rt->launch;
    static Allocation nowhere;  // never hit
    rt->global_shift = shift_of(rt->kernel->global_granule);
    rt->shared_shift = shift_of(rt->kernel->shared_granule);
    rt->next_stamp = STEP;
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
        a->shadow = (u64)p - ((a->base & ~31ull) >> rt->global_shift) * sizeof(Cell);
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
        mark_red(s);
    }
}

// The granules between the variables of shared memory, which are nobody's.
void mark_red(Slot *s) {
    const Kernel *k = s->rt->kernel;
    u32 shift = s->rt->shared_shift, grain = (1 << shift) - 1;
    for (u32 i = 0; i < k->red_zones; i++)
        for (u32 g = (k->red[i].from + grain) >> shift; g < k->red[i].to >> shift; g++) s->cells[g] = (Cell){.w = RED};
}

// Who wrote last at the address that the caller asks about.
static void answer(Runtime *rt) {
    Launch *l = rt->launch;
    for (u32 i = 0; l->asked && i < l->n_allocations; i++) {
        Allocation *a = &l->allocations[i];
        if (!a->cells || l->asked < a->base || l->asked >= a->base + a->size) continue;
        Cell *c = cell_of(a, l->asked, rt->global_shift);
        if (!c->w) return;
        Segment g = rt->segments[segment_of(c->w)];
        l->wrote = 1;
        l->wrote_block = g.block;
        l->wrote_thread = g.warp * 32 + lane_of(c->w);
        l->wrote_site = c->ws == 0xffff ? NO_SITE : c->ws;
        return;
    }
}

void order_end_launch(Runtime *rt) {
    if (rt->segments) answer(rt);
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
    for (u32 i = 0; i < rt->kernel->red_zones; i++)  // what is told of them is that they are nobody's
        memset(s->shared_state + rt->kernel->red[i].from, STATE_INIT, rt->kernel->red[i].to - rt->kernel->red[i].from);
    for (u32 i = 0; i < rt->warps; i++) {
        Warp *w = &s->warps[i];
        w->segment = 0;
        w->fenced = w->fenced_wide = (struct Fenced){0};
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
        mark_red(s);
        forget_acquired(s);
        if (s->known) memset(s->known, 0, MAX_WARPS * sizeof *s->known);
        for (u32 k = 0; k < BARRIERS; k++) {
            s->barriers[k].base = 0;
            memset(s->barriers[k].known, 0, sizeof s->barriers[k].known);
        }
        for (u32 k = 0; k < MAX_WARPS; k++) {
            Warp *w = &s->warps[k];
            w->segment = 0;
            w->fenced = w->fenced_wide = (struct Fenced){0};
            w->base = w->lane_base = STEP;
            w->first = rt->n_slots == 1 ? STEP : ~0u;
            w->foreign = rt->n_slots == 1 ? STEP : 0;
            if (w->seen) memset(w->seen, 0, 32 * 32 * sizeof *w->seen);
        }
    }
    forget_syncs(rt, NULL);
    rt->next_stamp = STEP;
}

u32 new_segment(Thread *t) {
    Runtime *rt = runtime_of(t);
    if (rt->next_stamp >= LAST_STAMP) forget_all(rt);
    u32 i = segment_of(rt->next_stamp);
    if (i >= rt->max_segments) {
        rt->max_segments = i * 2 > 4096 ? i * 2 : 4096;
        rt->segments = realloc(rt->segments, rt->max_segments * sizeof *rt->segments);
        if (!rt->segments) abort();
    }
    rt->segments[i] = (Segment){t->block->linear, t->warp->index};
    t->warp->segment = rt->next_stamp;
    rt->next_stamp += STEP;
    return t->warp->segment;
}

int before(Thread *t, u32 stamp, u32 me, u32 global) {
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    if (in_order(w, stamp, me, global)) return 1;
    if (same_segment(stamp, me)) return same_thread(stamp, me);
    Segment g = s->rt->segments[segment_of(stamp)];
    u32 lane = lane_of(stamp);
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
    Segment g = runtime_of(t)->segments[segment_of(stamp)];
    finding_from(t, code, a->site, a->addr, a->n, site == 0xffff ? NO_SITE : site, g.block, g.warp * 32 + lane_of(stamp), what);
}

static int same_cluster(Thread *t, u32 block) {
    Slot *s = slot_of(t), **first = s->rt->slots + s->index / s->rt->cluster * s->rt->cluster;
    for (u32 k = 0; k < s->rt->cluster; k++)
        if (first[k]->block.linear == block) return 1;
    return 0;
}

// Morally strong, as PTX calls it: both atomic or ordered, and each in the scope of the other.
static int strong_pair(Thread *t, u32 stamp, u32 me, u32 global) {
    u32 x = stamp & KIND, y = me & KIND;
    if (!x || !y) return 0;
    Segment g = runtime_of(t)->segments[segment_of(stamp)];
    if (g.block == t->block->linear) return global || g.warp != t->warp->index || (x != KIND_DATA && y != KIND_DATA);
    if (x == KIND_CTA || y == KIND_CTA) return 0;
    return (x != KIND_CLUSTER && y != KIND_CLUSTER) || same_cluster(t, g.block);
}

// What to say of two accesses of which one writes.
static const char *why(u32 x, u32 y, const char *weak, const char *in_step, const char *narrow) {
    if (!(x & KIND) || !(y & KIND)) return weak;
    return (x & KIND) == KIND_DATA || (y & KIND) == KIND_DATA ? in_step : narrow;
}
#define IN_STEP "lanes of a warp exchange data through volatile memory, unordered"
#define NARROW "atomic or ordered accesses whose scope leaves the other thread out, unordered"

static void slow_read(Thread *t, Cell *c, const Access *a) {
    u32 me = a->me;
    if (c->w && !same_thread(c->w, me) && !strong_pair(t, c->w, me, a->global) && !before(t, c->w, me, a->global))
        race(t, a, a->global == 1 ? 8012 : 8011, c->w, c->ws,
             why(c->w, me, "read of what another thread wrote, unordered", IN_STEP, NARROW));
    if (same_thread(c->r, me)) {
        if (me < c->r) c->r = me;
        return;
    }
    if (!c->r || before(t, c->r, me, a->global)) {
        c->r = me;
        c->rs = a->site < 0xffff ? a->site : 0xffff;
        return;
    }
    if (!c->r2 || before(t, c->r2, me, a->global) || (same_segment(c->r2, c->r) && !same_segment(c->r, me))) c->r2 = me;
}

static void slow_write(Thread *t, Cell *c, const Access *a) {
    u32 me = a->me, kind = a->global == 1 ? 8012 : 8011;
    const char *read = "write of what another thread read, unordered";
#define CLASHES(x) ((x) && !same_thread(x, me) && !strong_pair(t, x, me, a->global) && !before(t, x, me, a->global))
    if (CLASHES(c->r)) race(t, a, kind, c->r, c->rs, why(c->r, me, read, IN_STEP, NARROW));
    else if (CLASHES(c->r2)) race(t, a, kind, c->r2, 0xffff, why(c->r2, me, read, IN_STEP, NARROW));
    if (CLASHES(c->w)) {
        if (a->stored && !memcmp(a->stored, a->host, a->n))
            race(t, a, 8013, c->w, c->ws, "two threads write the same value, unordered");
        else race(t, a, kind, c->w, c->ws, why(c->w, me, "two threads write, unordered", IN_STEP, NARROW));
    }
    *c = (Cell){.w = me, .ws = a->site < 0xffff ? a->site : 0xffff};
}

void slow_access(Thread *t, Cell *c, u32 granules, u32 write, const Access *a) {
    for (; granules; granules--, c++) {
        if (UNLIKELY(c->w == RED)) {
            finding(t, 8002, a->site, a->addr, a->n,
                    write ? "write between two variables of shared memory" : "read between two variables of shared memory");
            return;
        }
        if (quick(t->warp, c, a->me, a->site, a->global, write)) continue;
        if (write) slow_write(t, c, a);
        else slow_read(t, c, a);
    }
}
#endif
