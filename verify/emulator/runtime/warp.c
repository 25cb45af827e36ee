// Warp collectives: lanes deposit a pointer, the last to arrive does the work for all. They wait for each other, and that is
// all: PTX gives memory an order at bar.warp.sync, and at none of shfl, vote, match, redux, elect and the matrix operations.
#include "engine.h"

static void complete(Warp *w, u32 mask, u32 site) {
    u32 lanes = mask & w->live, first = __builtin_ctz(lanes);
    if (LIKELY(!w->mixed && lanes == w->waiting)) {
        w->fn[first](w, w->mine, lanes, site);
        w->waiting = 0;
        make_runnable(w, lanes);
        return;
    }
    for (u32 m = lanes; m; m &= m - 1) {
        u32 l = __builtin_ctz(m);
        if (LIKELY(w->want[l] == w->want[first] && w->fn[l] == w->fn[first])) continue;
        Thread *other = w->threads + first;
        finding_from(w->threads + l, 8021, fiber_of(w->threads + l)->site, 0, 0, fiber_of(other)->site,
                     w->slot->block.linear, other->linear, "lanes of one warp meet in different collectives or with different masks");
    }
    for (u32 left = lanes; left;) {  // each kind by itself: what the lanes passed differs
        u32 alike = 0;
        Collective fn = w->fn[__builtin_ctz(left)];
        for (u32 m = left; m; m &= m - 1)
            if (w->fn[__builtin_ctz(m)] == fn) alike |= m & -m;
        fn(w, w->mine, alike, site);
        left &= ~alike;
    }
    w->waiting &= ~lanes;
    make_runnable(w, lanes);
}

void collective(Thread *t, u32 mask, void *mine, u32 site, Collective fn) {
    Warp *w = t->warp;
    u32 l = t->lane;
    if (UNLIKELY(!(mask & t->lane_bit))) {
        finding(t, 8021, site, 0, 0, "the lane is not in the mask that it passes");
        mask |= t->lane_bit;
    }
    if (!w->waiting) {
        w->mixed = 0;
        w->common = l;
    } else if (UNLIKELY(w->want[w->common] != mask || w->fn[w->common] != fn)) w->mixed = 1;
    w->want[l] = mask;
    w->mine[l] = mine;
    w->fn[l] = fn;
    w->waiting |= t->lane_bit;
    fiber_of(t)->site = site;
    if (mask & w->live & ~w->waiting) block_here(t, WAIT_COLLECTIVE, site);
    else {
        complete(w, mask, site);
        if (runtime_of(t)->fibers) give_way(t);  // as the schedule has it, not the last to come first
    }
}

void lane_left(Warp *w) {
    for (u32 m = w->waiting; m; m &= m - 1) {
        u32 l = __builtin_ctz(m);
        if ((w->waiting >> l & 1) && !(w->want[l] & w->live & ~w->waiting))
            complete(w, w->want[l], fiber_of(w->threads + l)->site);
    }
}

Thread *warp_thread(Warp *w, u32 lane) { return w->threads + lane; }
u32 warp_live(const Warp *w) { return w->live; }
u32 warp_index(const Thread *t) { return t->warp->index; }

#define EACH_LANE(l, mask) for (u32 m_ = (mask), l; m_ && (l = __builtin_ctz(m_), 1); m_ &= m_ - 1)

static void differs(Warp *w, u32 lane, u32 site) {
    finding(w->threads + lane, 8021, site, 0, 0, "lanes of one warp meet in collectives of different kinds");
}

typedef struct { u32 mode, value, b, c, result; u8 p; } Shuffle;
static void run_shfl(Warp *w, void **lanes, u32 mask, u32 site) {
    Shuffle *kind = lanes[__builtin_ctz(mask)];
    EACH_LANE(l, mask) {
        Shuffle *me = lanes[l];
        if (UNLIKELY(me->mode != kind->mode)) differs(w, l, site);
        u32 segment = me->c >> 8 & 31, clamp = me->c & 31, b = me->b & 31;
        s32 highest = (l & segment) | (clamp & ~segment), lowest = l & segment, from;
        switch (me->mode) {
        case SHFL_UP: from = (s32)l - (s32)b; me->p = from >= highest; break;
        case SHFL_DOWN: from = l + b; me->p = from <= highest; break;
        case SHFL_BFLY: from = l ^ b; me->p = from <= highest; break;
        default: from = lowest | (b & ~segment); me->p = from <= highest;
        }
        if (!me->p) from = l;
        // Outside of the mask the value is undefined (and often unused): something that shows when it is used.
        me->result = LIKELY(mask >> from & 1) ? ((Shuffle *)lanes[from])->value : 0x7fffffff;
    }
}
u32 shfl_sync(Thread *t, u32 mode, u32 value, u32 b, u32 c, u32 mask, u32 site, u8 *p) {
    Shuffle me = {mode, value, b, c};
    collective(t, mask, &me, site, run_shfl);
    if (p) *p = me.p;
    return me.result;
}

typedef struct { u32 ballot, lanes; u8 pred; } Vote;
static void run_vote(Warp *w, void **lanes, u32 mask, u32 site) {
    u32 ballot = 0;
    EACH_LANE(l, mask) if (((Vote *)lanes[l])->pred) ballot |= 1u << l;
    EACH_LANE(l, mask) {
        ((Vote *)lanes[l])->ballot = ballot;
        ((Vote *)lanes[l])->lanes = mask;
    }
}
INL Vote vote(Thread *t, u8 pred, u32 mask, u32 site) {
    Vote me = {.pred = pred};
    collective(t, mask, &me, site, run_vote);
    return me;
}
u32 vote_ballot(Thread *t, u8 pred, u32 mask, u32 site) { return vote(t, pred, mask, site).ballot; }
u8 vote_any(Thread *t, u8 pred, u32 mask, u32 site) { return vote(t, pred, mask, site).ballot != 0; }
u8 vote_all(Thread *t, u8 pred, u32 mask, u32 site) { Vote v = vote(t, pred, mask, site); return v.ballot == v.lanes; }
u8 vote_uni(Thread *t, u8 pred, u32 mask, u32 site) {
    Vote v = vote(t, pred, mask, site);
    return v.ballot == 0 || v.ballot == v.lanes;
}

typedef struct { u64 value; u32 same, all; } Match;
static void run_match(Warp *w, void **lanes, u32 mask, u32 site) {
    EACH_LANE(l, mask) {
        Match *me = lanes[l];
        me->same = 0;
        for (u32 n = mask; n; n &= n - 1) {
            u32 o = __builtin_ctz(n);
            if (((Match *)lanes[o])->value == me->value) me->same |= 1u << o;
        }
        me->all = me->same == mask;
    }
}
u32 match_any64(Thread *t, u64 value, u32 mask, u32 site) {
    Match me = {value};
    collective(t, mask, &me, site, run_match);
    return me.same;
}
u32 match_all64(Thread *t, u64 value, u32 mask, u32 site, u8 *p) {
    Match me = {value};
    collective(t, mask, &me, site, run_match);
    if (p) *p = me.all;
    return me.all ? me.same : 0;
}
u32 match_any32(Thread *t, u32 value, u32 mask, u32 site) { return match_any64(t, value, mask, site); }
u32 match_all32(Thread *t, u32 value, u32 mask, u32 site, u8 *p) { return match_all64(t, value, mask, site, p); }

// f32 min and max order like the integers below: -0 < +0, NaN apart.
INL s32 rank(u32 bits) { return bits & 0x80000000u ? (s32)(bits ^ 0x7fffffff) : (s32)bits; }
INL u32 minmax_f32(u32 a, u32 b, u32 largest, u32 absolute, u32 keep_nan) {
    if (absolute) a &= 0x7fffffff, b &= 0x7fffffff;
    u32 nan_a = (a & 0x7fffffff) > 0x7f800000, nan_b = (b & 0x7fffffff) > 0x7f800000;
    if (keep_nan ? nan_a || nan_b : nan_a && nan_b) return 0x7fffffff;
    if (nan_a) return b;
    if (nan_b) return a;
    return (rank(a) < rank(b)) != largest ? a : b;
}
typedef struct { u32 op, value, result; } Redux;
static void run_redux(Warp *w, void **lanes, u32 mask, u32 site) {
    u32 first = __builtin_ctz(mask), op = ((Redux *)lanes[first])->op, r = ((Redux *)lanes[first])->value;
    if (op >= REDUX_MIN_F32) {
        u32 k = op - REDUX_MIN_F32;
        r = minmax_f32(r, r, k & 1, k >> 1 & 1, k >> 2);  // one lane alone: |x|, canonical NaN
    }
    EACH_LANE(l, mask & (mask - 1)) {
        u32 x = ((Redux *)lanes[l])->value;
        if (UNLIKELY(((Redux *)lanes[l])->op != op)) differs(w, l, site);
        switch (op) {
        case REDUX_ADD: r += x; break;
        case REDUX_MIN_S32: r = (s32)x < (s32)r ? x : r; break;
        case REDUX_MAX_S32: r = (s32)x > (s32)r ? x : r; break;
        case REDUX_MIN_U32: r = x < r ? x : r; break;
        case REDUX_MAX_U32: r = x > r ? x : r; break;
        case REDUX_AND: r &= x; break;
        case REDUX_OR: r |= x; break;
        case REDUX_XOR: r ^= x; break;
        default: { u32 k = op - REDUX_MIN_F32; r = minmax_f32(r, x, k & 1, k >> 1 & 1, k >> 2); }
        }
    }
    EACH_LANE(l, mask) ((Redux *)lanes[l])->result = r;
}
u32 redux(Thread *t, u32 op, u32 value, u32 mask, u32 site) {
    Redux me = {op, value};
    collective(t, mask, &me, site, run_redux);
    return me.result;
}

static void run_elect(Warp *w, void **lanes, u32 mask, u32 site) {
    EACH_LANE(l, mask) *(u32 *)lanes[l] = __builtin_ctz(mask);  // PTX leaves the choice open
}
u32 elect(Thread *t, u32 mask, u32 site, u8 *p) {
    u32 leader;
    collective(t, mask, &leader, site, run_elect);
    if (p) *p = leader == t->lane;
    return leader;
}

static void run_sync(Warp *w, void **lanes, u32 mask, u32 site) { order_lanes(w, mask); }
void bar_warp_sync(Thread *t, u32 mask, u32 site) { collective(t, mask, NULL, site, run_sync); }

// Lanes converge as far as they can: when the rest of the warp waits, yields or is over, those at the first activemask of
// the program are active together; lanes that are further on wait for them to catch up.
int release_activemask(Warp *w) {
    u32 first = NO_SITE, same = 0;
    EACH_LANE(l, w->at_activemask) {
        u32 site = fiber_of(w->threads + l)->site;
        if (site < first) first = site, same = 0;
        if (site == first) same |= 1u << l;
    }
    if (!same) return 0;
    w->at_activemask &= ~same;
    EACH_LANE(l, same) fiber_of(w->threads + l)->result = same;
    make_runnable(w, same);
    return 1;
}
u32 activemask(Thread *t, u32 site) {
    t->warp->at_activemask |= t->lane_bit;
    block_here(t, WAIT_ACTIVEMASK, site);
    return fiber_of(t)->result;
}
