// Happens-before, as the access checks see it.
//
// Time is one counter of the launch. A warp's accesses between two synchronisations form a segment, which gets a number when
// its first access comes; a stamp is segment << 6 | lane << 1 | strong (atomic or ordered). Because numbers only rise, "all of
// the block up to here is known" is one comparison with Warp.base, which is what a barrier of the whole block sets.
#ifndef EMU_ORDER_H
#define EMU_ORDER_H
#include "engine.h"

typedef struct Segment { u32 block, warp; } Segment;
typedef struct Cell {     // shadow of one granule
    u32 w, r, r2;         // stamps of the last write and of two reads since that know nothing of each other; 0: none
    u16 ws, rs;           // sites of w and r, 0xffff: too large
} Cell;

typedef struct Access {   // for the slow paths
    u64 addr;
    u32 n, site, me, global;
    const void *stored;   // value, to tell benign stores; NULL: none
    const u8 *host;
} Access;

#ifdef CHECK
u32 new_segment(Thread *t);
void slow_read(Thread *t, Cell *c, const Access *a);
void slow_write(Thread *t, Cell *c, const Access *a);
void sync_load(Thread *t, const void *host);    // an atomic or ordered load at host: acquires what was released there
void sync_store(Thread *t, const void *host);   // … store: releases what the last fence covers
void order_fence(Thread *t);                     // what came before is covered by the next releases
int acquired_knows(Thread *t, u32 block, u32 warp, u32 stamp);
void forget_syncs(Runtime *rt, Slot *only);
void forget_acquired(Slot *s);
void free_acquired(struct AcquiredList *list);
void free_syncs(Runtime *rt);

INL u32 stamp_of(Thread *t, u32 strong) {
    u32 segment = t->warp->segment;
    if (UNLIKELY(!segment)) segment = new_segment(t);
    return segment | t->lane << 1 | strong;
}
INL int same_thread(u32 a, u32 b) { return (a ^ b) <= 1; }  // and segment
INL int same_segment(u32 a, u32 b) { return (a ^ b) < 64; }

// Certainly ordered before now, without a look at who it was.
INL int surely_before(const Slot *s, const Warp *w, u32 stamp, u32 global) {
    return stamp < w->base && (!global || stamp >= s->first);
}
// A recorded read that may still matter: not known to the warp. In global memory, what is before `first` is another block's.
INL int may_matter(const Slot *s, const Warp *w, u32 stamp, u32 global) {
    return stamp >= w->base || (global && stamp < s->first && s->rt->n_slots == 1);
}

INL void note_read(Thread *t, Cell *c, const Access *a) {
    const Slot *s = slot_of(t);
    const Warp *w = t->warp;
    u32 me = a->me, r = c->r;
    if (c->w && !same_thread(c->w, me) && !surely_before(s, w, c->w, a->global)) goto slow;
    if (same_thread(r, me)) return;
    if (!r || !may_matter(s, w, r, a->global)) {
        c->r = me;
        c->rs = a->site > 0xffff ? 0xffff : a->site;
        return;
    }
    if (!c->r2) {
        c->r2 = me;
        return;
    }
    if (same_segment(r, me) || same_thread(c->r2, me)) return;  // two of this warp's readers are enough …
    if (may_matter(s, w, c->r2, a->global) && !same_segment(c->r2, r) && w->lane_base <= w->base && !s->known) return;
slow:
    slow_read(t, c, a);
}

INL void note_write(Thread *t, Cell *c, const Access *a) {
    const Slot *s = slot_of(t);
    const Warp *w = t->warp;
#define HARMLESS(x) (!(x) || same_thread(x, a->me) || surely_before(s, w, x, a->global))
    if (UNLIKELY(!(HARMLESS(c->w) && HARMLESS(c->r) && HARMLESS(c->r2)))) slow_write(t, c, a);
#undef HARMLESS
    *c = (Cell){.w = a->me, .ws = a->site > 0xffff ? 0xffff : a->site};
}
#else
INL void sync_load(Thread *t, const void *host) {}
INL void sync_store(Thread *t, const void *host) {}
INL void order_fence(Thread *t) {}
#endif
#endif
