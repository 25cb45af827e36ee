// Happens-before, as the access checks see it.
//
// Time is one counter of the launch. A warp's accesses between two synchronisations form a segment, which gets a number when
// its first access comes; a stamp is segment << 8 | lane << 3 | kind. Because numbers only rise, "all of the block up to here
// is known" is one comparison with Warp.base, which is what a barrier of the whole block sets.
#ifndef EMU_ORDER_H
#define EMU_ORDER_H
#include "engine.h"

typedef struct Segment { u32 block, warp; } Segment;

// The kind of an access, the weakest first. Strong are atomic and ordered ones: two of them are no race where the scope of
// each has the other's thread in it. DATA is a strong load of shared memory whose value goes into data and is never tested:
// lanes of one warp that hand data to each other so rely on running in step.
enum { KIND_WEAK, KIND_CTA, KIND_CLUSTER, KIND_DATA, KIND_WIDE, KIND = 7, STEP = 256 };
INL u32 segment_of(u32 stamp) { return stamp >> 8; }
INL u32 lane_of(u32 stamp) { return stamp >> 3 & 31; }
INL u32 strength_of(Order o) {
    return !is_strong(o) ? KIND_WEAK : o & IN_CTA ? KIND_CTA : o & IN_CLUSTER ? KIND_CLUSTER : o & AS_DATA ? KIND_DATA : KIND_WIDE;
}
#define RED ~0u  // as the last write of a granule between two variables of shared memory: never in order
typedef struct Cell {     // shadow of one granule
    u32 w, r, r2;         // stamps of the last write and of two reads since that know nothing of each other; 0: none
    u16 ws, rs;           // sites of w and r, 0xffff: too large
} Cell;

typedef struct Access {   // for the slow paths
    u64 addr;
    u32 n, site, me, global;  // me: stamp; global: 1; 2: shared memory of another block, which is ordered like global memory
    const void *stored;   // value, to tell benign stores; NULL: none
    const u8 *host;
} Access;

#ifdef CHECK
u32 new_segment(Thread *t);
// Granules lie at multiples of their size, wherever the allocation starts.
INL Cell *cell_of(const Allocation *a, u64 addr, u32 shift) { return (Cell *)(a->shadow + (addr >> shift) * sizeof(Cell)); }
int before(Thread *t, u32 stamp, u32 me, u32 global);  // is the access of a stamp known to the thread?
void update_load(Thread *t, const void *host);  // update.c: a value is loaded that will be changed and stored again
void update_store(Thread *t, u64 host, u32 n, u64 addr, const void *from, u32 site);
void slow_access(Thread *t, Cell *c, u32 granules, u32 write, const Access *a);  // the cells from c that were not quick
void acquire_at(Thread *t, const void *host);
void release_at(Thread *t, const void *host);
void order_fence(Thread *t, u32 scope);          // what came before is covered by the next releases
int acquired_knows(Thread *t, u32 block, u32 warp, u32 stamp);
void forget_syncs(Runtime *rt, Slot *only);
void mark_red(Slot *s);
void forget_acquired(Slot *s);
void free_acquired(struct AcquiredList *list);
void free_syncs(Runtime *rt);

// An atomic or ordered load at host acquires what was released there; a store releases what the last fence covers.
INL void sync_load(Thread *t, const void *host) {
    if (UNLIKELY(runtime_of(t)->any_fence)) acquire_at(t, host);
}
INL void sync_store(Thread *t, const void *host) {
    if (UNLIKELY(t->warp->fenced.own)) release_at(t, host);
}

INL u32 stamp_of(Thread *t, u32 kind) {
    u32 segment = t->warp->segment;
    if (UNLIKELY(!segment)) segment = new_segment(t);
    return segment | t->lane << 3 | kind;
}
INL int same_thread(u32 a, u32 b) { return (a ^ b) <= KIND; }  // and segment
INL int same_segment(u32 a, u32 b) { return (a ^ b) < STEP; }

// The quick paths: 1 when the access is in order and noted. Nearly all accesses end here; the slow ones say what they find.
// In shared memory every stamp below base is in order, whoever's it is; in global memory it may be another block's.
INL int in_order(const Warp *w, u32 stamp, u32 me, u32 global) {
    return same_thread(stamp, me) || (stamp < w->base && (!global || stamp >= w->first || !stamp));
}
INL int is_stale(const Warp *w, u32 stamp, u32 global) {  // a recorded read that can clash with nobody who comes now
    return stamp < w->base && (!global || stamp >= w->foreign || !stamp);
}

INL int quick_read(const Warp *w, Cell *c, u32 me, u32 site, u32 global) {
    u32 r = c->r, r2 = c->r2;
    if (UNLIKELY(!in_order(w, c->w, me, global))) return 0;
    if (same_thread(r, me)) {
        if (me < r) c->r = me;  // weak and strong by one thread: the weak one is what others can clash with
        return 1;
    }
    if (is_stale(w, r, global)) {
        c->r = me;
        c->rs = site < 0xffff ? site : 0xffff;
        return 1;
    }
    if (is_stale(w, r2, global)) {
        c->r2 = me;
        return w->plain;
    }
    // Two readers are remembered, of different warps if there are such. A third can be left out while no clash is certain
    // to be missed by it: not when some but not all lanes or warps have synchronised since.
    return same_segment(r, me) || same_thread(r2, me) || (!same_segment(r, r2) && w->plain);
}

INL int quick_write(const Warp *w, Cell *c, u32 me, u32 site, u32 global) {
#define FITS(x) (in_order(w, x, me, global) || (((x) & me & KIND_WIDE) && (x) != RED))
    if (UNLIKELY(!(FITS(c->w) && FITS(c->r) && FITS(c->r2)))) return 0;
#undef FITS
    *c = (Cell){.w = same_thread(c->w, me) && c->w < me ? c->w : me, .ws = site < 0xffff ? site : 0xffff};
    return 1;
}

INL int quick(const Warp *w, Cell *c, u32 me, u32 site, u32 global, u32 write) {
    return write ? quick_write(w, c, me, site, global) : quick_read(w, c, me, site, global);
}
#else
INL void sync_load(Thread *t, const void *host) {}
INL void sync_store(Thread *t, const void *host) {}
INL void order_fence(Thread *t, u32 scope) {}
INL void update_load(Thread *t, const void *host) {}
INL void update_store(Thread *t, u64 host, u32 n, u64 addr, const void *from, u32 site) {}
#endif
#endif
