// The sixteen barriers of a block, and the barrier of a cluster's blocks.
// What is reported follows compute-sanitizer's synccheck: lanes of one warp that meet in an aligned barrier at different
// places (CP8021), counts that do not agree or are no multiple of the warp (CP8022), and a warp of which some lanes wait while
// others have exited (CP8023). Whole warps that exited count as arrived, as on the hardware, and are not reported.
#include "engine.h"

static void clear(Barrier *b) {
    memset(b, 0, offsetof(Barrier, base));
    memset(b->site, 0xff, sizeof b->site);
    b->all = 1;
    b->first_site = NO_SITE;
}

void start_barriers(Slot *s) {
    s->open_barriers = 0;
    for (u32 i = 0; i < BARRIERS; i++) {
        clear(&s->barriers[i]);
        s->barriers[i].base = 0;
        memset(s->barriers[i].known, 0, sizeof s->barriers[i].known);
    }
}

static void release(Slot *s, Barrier *b) {
    u32 waiting = 0;
    for (u32 i = 0; i < s->rt->warps; i++) {
        Warp *w = &s->warps[i];
        u32 lanes = b->lanes[i];
        if (!lanes) continue;
        waiting += __builtin_popcount(lanes);
        if (UNLIKELY(w->live != w->exists && !b->expected)) {
            u32 gone = __builtin_ctz(w->exists & ~w->live), l = __builtin_ctz(lanes);
            finding_from(w->threads + l, 8023, fiber_of(w->threads + l)->site, 0, 0, NO_SITE, s->block.linear,
                         w->threads[gone].linear, "a lane exited before the barrier at which others of its warp wait");
        }
    }
    u32 result = (b->popc << 2) | (b->any << 1) | b->all;
    order_barrier(s, b, waiting == s->block.live && b->arrived >= waiting);
    for (u32 i = 0; i < s->rt->warps; i++) {
        u32 lanes = b->lanes[i];
        if (!lanes) continue;
        for (u32 m = b->reduces ? lanes : 0; m; m &= m - 1) fiber_of(s->warps[i].threads + __builtin_ctz(m))->result = result;
        make_runnable(&s->warps[i], lanes);
    }
    clear(b);
    s->open_barriers &= ~(1u << (b - s->barriers));
}

INL int phase_complete(Slot *s, Barrier *b) { return b->arrived >= (b->expected ? b->expected : s->block.live); }

void thread_left_barriers(Slot *s) {
    for (u32 open = s->open_barriers; open; open &= open - 1) {
        Barrier *b = &s->barriers[__builtin_ctz(open)];
        if (b->arrived && !b->expected && phase_complete(s, b) && s->block.live) release(s, b);
    }
}

// Counts the thread in. Returns the barrier, or NULL when this completed its phase.
static Barrier *arrive(Thread *t, u32 id, u32 count, u32 pred, u32 site, u32 aligned, u32 waits, u32 reduces) {
    Slot *s = slot_of(t);
    u32 w = t->warp->index;
    if (UNLIKELY(id >= BARRIERS)) {
        finding(t, 8022, site, id, 0, "there are barriers 0 to 15");
        stop_launch(t, 8022);
    }
    Barrier *b = &s->barriers[id];
    if (UNLIKELY(count & 31 && count != s->block.threads))
        finding(t, 8022, site, id, count, "the thread count of the barrier is no multiple of the warp size");
    if (!b->arrived) {
        s->open_barriers |= 1u << id;
        b->expected = count;
        b->first_site = site;
        b->first_thread = t->linear;
    } else if (UNLIKELY(b->expected != count)) {
        u32 all = s->block.threads;
        if ((b->expected ? b->expected : all) != (count ? count : all))
            finding_from(t, 8022, site, id, count, b->first_site, s->block.linear, b->first_thread,
                         "threads come to one barrier with different thread counts");
    }
    if (aligned) {
        if (b->site[w] == NO_SITE) b->site[w] = site;
        else if (UNLIKELY(b->site[w] != site)) {
            u32 l = b->lanes[w] ? (u32)__builtin_ctz(b->lanes[w]) : t->lane;
            finding_from(t, 8021, site, id, 0, b->site[w], s->block.linear, t->warp->threads[l].linear,
                         "lanes of one warp come to the barrier at different places");
        }
    }
    b->popc += pred;
    b->any |= pred;
    b->all &= pred;
    b->arrived++;
    b->reduces |= reduces;
    order_arrive(t, b);
    if (waits) b->lanes[w] |= t->lane_bit;
    fiber_of(t)->barrier = id;
    fiber_of(t)->site = site;
    if (!phase_complete(s, b)) return b;
    if (UNLIKELY(b->expected && b->arrived > b->expected))
        finding(t, 8022, site, id, count, "more threads came to the barrier than it counts");
    release(s, b);
    return NULL;
}

static u32 sync(Thread *t, u32 id, u32 count, u32 pred, u32 site, u32 aligned, u32 reduces) {
    if (arrive(t, id, count, pred, site, aligned, 1, reduces)) block_here(t, WAIT_BARRIER, site);
    else if (runtime_of(t)->fibers) give_way(t);
    return fiber_of(t)->result;
}

#define FORMS(prefix, aligned) \
    void prefix##_sync(Thread *t, u32 id, u32 count, u32 site) { sync(t, id, count, 0, site, aligned, 0); } \
    void prefix##_arrive(Thread *t, u32 id, u32 count, u32 site) { arrive(t, id, count, 0, site, aligned, 0, 0); } \
    u32 prefix##_red_popc(Thread *t, u32 id, u32 count, u8 p, u32 site) { return sync(t, id, count, !!p, site, aligned, 1) >> 2; } \
    u8 prefix##_red_and(Thread *t, u32 id, u32 count, u8 p, u32 site) { return sync(t, id, count, !!p, site, aligned, 1) & 1; } \
    u8 prefix##_red_or(Thread *t, u32 id, u32 count, u8 p, u32 site) { return sync(t, id, count, !!p, site, aligned, 1) >> 1 & 1; }
FORMS(bar, 1)
FORMS(barrier, 0)
