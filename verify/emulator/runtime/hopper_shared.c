// Places in the shared memory of a cluster's blocks, and what asynchronous work does to their state.
#include "hopper_engine.h"
#ifdef CHECK
#include "order.h"
#endif
#include <stdio.h>
#include <stdlib.h>

enum { RANK_SHIFT = 24, OFFSET_MASK = (1 << RANK_SHIFT) - 1 };

static u32 cluster_size(const Launch *l) { return l->cluster[0] * l->cluster[1] * l->cluster[2]; }

static u32 rank_of(const Thread *t) {
    const u32 *c = t->launch->cluster, *b = t->block->ctaid;
    return b[0] % c[0] + c[0] * (b[1] % c[1] + c[1] * (b[2] % c[2]));
}

static void *zeroed(u64 count, u64 size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

Hopper *hopper_of(Runtime *rt) {
    if (LIKELY(rt->hopper != NULL)) return rt->hopper;
    Hopper *h = rt->hopper = zeroed(1, sizeof *h);
    h->rt = rt;
    h->threads = zeroed((u64)rt->n_slots * rt->threads, sizeof *h->threads);
    h->warps = zeroed((u64)rt->n_slots * MAX_WARPS, sizeof *h->warps);
    h->readers = zeroed(rt->n_slots, sizeof *h->readers);
    h->cluster_barriers = zeroed(rt->n_slots, sizeof *h->cluster_barriers);
    return h;
}

ThreadAsync *thread_async(const Thread *t) {
    return &hopper_of(runtime_of(t))->threads[slot_of(t)->index * runtime_of(t)->threads + t->linear];
}
WarpAsync *warp_async(const Thread *t) {
    return &hopper_of(runtime_of(t))->warps[slot_of(t)->index * MAX_WARPS + t->warp->index];
}

void unsupported(Thread *t, u32 site, const char *what) {
    finding(t, 7110, site, 0, 0, what);
    stop_launch(t, 7110);
}

// Blocks of a cluster run in neighbouring slots, in the order of their ranks.
Slot *cluster_slot(const Thread *t, u32 rank) {
    u32 size = cluster_size(t->launch), own = slot_of(t)->index;
    if (rank >= size) return NULL;
    if (size == 1) return slot_of(t);
    u32 index = own - rank_of(t) + rank;
    return index < runtime_of(t)->n_slots ? runtime_of(t)->slots[index] : NULL;
}

int find_place(Thread *t, u32 at, u32 bytes, u32 align, u32 site, Place *place) {
    u32 offset = at & OFFSET_MASK, rank = at >> RANK_SHIFT;
    Slot *s = rank ? cluster_slot(t, rank - 1) : slot_of(t);
    if (UNLIKELY(!s || offset >= t->block->shared_bytes || offset + bytes > t->block->shared_bytes)) {
        finding(t, 8002, site, offset, bytes, s ? "outside of shared memory" : "shared memory of a block that the cluster lacks");
        return 0;
    }
    if (UNLIKELY(rank && !s->block.live)) {
        finding(t, 8002, site, offset, bytes, "shared memory of a block that has ended");
        return 0;
    }
    if (UNLIKELY(offset & (align - 1))) {
        finding(t, 8004, site, offset, bytes, "misaligned access to shared memory");
        return 0;
    }
    *place = (Place){s, offset};
    return 1;
}

static Slot *slot_holding(const Thread *t, u64 generic) {
    const Slot *own = slot_of(t);
    if (generic - (u64)own->block.shared < own->block.shared_bytes) return (Slot *)own;
    for (u32 r = 0, n = cluster_size(t->launch); n > 1 && r < n; r++) {
        Slot *s = cluster_slot(t, r);
        if (s && generic - (u64)s->block.shared < s->block.shared_bytes) return s;
    }
    return NULL;
}

static u32 rank_in_cluster(const Thread *t, const Slot *s) { return s->index - slot_of(t)->index + rank_of(t); }

u32 cluster_address(Thread *t, u64 generic, u32 site) {
    Slot *s = slot_holding(t, generic);
    if (UNLIKELY(!s)) {
        finding(t, 8002, site, generic, 0, "a generic address that is not in shared memory");
        return OFFSET_MASK;  // beyond the end: reported again where it is used
    }
    u32 offset = (u32)(generic - (u64)s->block.shared);
    return s == slot_of(t) ? offset : offset | (rank_in_cluster(t, s) + 1) << RANK_SHIFT;
}

u64 cluster_to_generic(Thread *t, u64 address) {
    u32 rank = (u32)address >> RANK_SHIFT;
    Slot *s = rank ? cluster_slot(t, rank - 1) : slot_of(t);
    return (u64)(s ? s : slot_of(t))->block.shared + (address & OFFSET_MASK);
}
u64 cluster_to_shared(Thread *t, u64 generic) {
    Slot *s = slot_holding(t, generic);
    if (!s) return OFFSET_MASK;
    u64 offset = generic - (u64)s->block.shared;
    return s == slot_of(t) ? offset : offset | (u64)(rank_in_cluster(t, s) + 1) << RANK_SHIFT;
}
u8 is_cluster(Thread *t, u64 generic) { return slot_holding(t, generic) != NULL; }
u64 mapa_shared(Thread *t, u64 address, u32 rank) {
    // The own block too gets a rank: the address may be handed to another block.
    return (address & OFFSET_MASK) | (u64)(rank + 1) << RANK_SHIFT;
}
u64 mapa_generic(Thread *t, u64 generic, u32 rank) {
    Slot *from = slot_holding(t, generic), *to = cluster_slot(t, rank);
    return from && to ? generic - (u64)from->block.shared + (u64)to->block.shared : 0;
}
u32 getctarank_shared(Thread *t, u64 address) { return address >> RANK_SHIFT ? (u32)(address >> RANK_SHIFT) - 1 : rank_of(t); }
u32 getctarank_generic(Thread *t, u64 generic) {
    Slot *s = slot_holding(t, generic);
    return s ? rank_in_cluster(t, s) : rank_of(t);
}

#ifdef CHECK
// Cells of neighbouring pieces have the same history, and looking up who knew what takes long: the last answer is kept.
static void record(Thread *t, Place at, u32 bytes, u32 kind, u32 site, u32 strength) {
    static struct { Warp *warp; u32 me, write, site; Cell before, after; } last;
    u32 shift = runtime_of(t)->shared_shift, granules = bytes >> shift ? bytes >> shift : 1, write = kind & ACCESS_WRITE;
    u32 kept = slot_of(t) == at.slot ? 0 : 2;  // another block's memory is ordered like global memory
    Access a = {at.offset, bytes, site, stamp_of(t, strength), kept, NULL, host_of(at)};
    Cell *c = (Cell *)at.slot->cells + (at.offset >> shift);
    for (u32 i = 0; i < granules; i++, c++) {
        if (last.warp == t->warp && last.me == a.me && last.write == write && last.site == site && !memcmp(c, &last.before, sizeof *c)) {
            *c = last.after;
            continue;
        }
        Cell before = *c;
        slow_access(t, c, 1, write, &a);
        last = (__typeof__(last)){t->warp, a.me, write, site, before, *c};
    }
}

static void touch_piece(Thread *t, Place at, u32 bytes, u32 kind, u32 site, u32 strength) {
    u8 *state = at.slot->shared_state + at.offset;
    for (u32 i = 0; kind & ACCESS_READ && i < bytes; i++) {
        if (LIKELY(state[i] & STATE_INIT)) continue;
        finding(t, 8005, site, at.offset + i, bytes, state[i] & STATE_FILLING ? "read of shared memory that a copy still under way will write"
                                                                              : "read of shared memory that nobody wrote");
        break;
    }
    if (kind & ACCESS_WRITE) memset(state, STATE_INIT, bytes);
    record(t, at, bytes, kind, site, strength);
}

void touch_place(Thread *t, Place at, u32 bytes, u32 kind, u32 site) {
    u32 step = bytes < PIECE ? bytes : PIECE;
    for (u32 i = 0; i < bytes; i += step) touch_piece(t, (Place){at.slot, at.offset + i}, step, kind, site, KIND_WEAK);
}

void touch_atomically(Thread *t, Place at, u32 bytes, u32 site) {
    touch_piece(t, at, bytes, ACCESS_READ | ACCESS_WRITE, site, KIND_WIDE);
}

static u16 *readers_of(Slot *s) {
    Hopper *h = hopper_of(s->rt);
    if (!h->readers[s->index]) h->readers[s->index] = zeroed(s->block.shared_bytes / PIECE + 1, sizeof(u16));
    return h->readers[s->index];
}

// Where the last writer of a granule was, for a report.
static void clash(Thread *t, Place at, u32 site, const char *what) {
    const Cell *c = (const Cell *)at.slot->cells + (at.offset >> runtime_of(t)->shared_shift);
    Segment g = c->w ? runtime_of(t)->segments[segment_of(c->w)] : (Segment){t->block->linear, t->warp->index};
    finding_from(t, 8011, site, at.offset, PIECE, c->w && c->ws != 0xffff ? c->ws : NO_SITE, g.block,
                 g.warp * 32 + lane_of(c->w), what);
}

void start_reading(Thread *t, Place at, u32 bytes, u32 site) {
    u16 *readers = readers_of(at.slot);
    const u64 mark = STATE_READING * 0x0101010101010101ull;
    for (u32 i = at.offset; i < at.offset + bytes; i += PIECE) {
        u64 *state = (u64 *)(at.slot->shared_state + i);
        if (UNLIKELY(readers[i / PIECE]++ && (state[0] & state[1] & mark) != mark))
            clash(t, (Place){at.slot, i}, site, "shared memory was overwritten while earlier asynchronous work reads it");
        state[0] |= mark;
        state[1] |= mark;
    }
}

void stop_reading(Thread *t, Place at, u32 bytes, u32 site, const char *what) {
    u16 *readers = readers_of(at.slot);
    const u64 mark = STATE_READING * 0x0101010101010101ull;
    for (u32 i = at.offset; i < at.offset + bytes; i += PIECE) {
        u64 *state = (u64 *)(at.slot->shared_state + i);
        if (UNLIKELY((state[0] & state[1] & mark) != mark)) clash(t, (Place){at.slot, i}, site, what);
        if (--readers[i / PIECE]) continue;
        state[0] &= ~mark;
        state[1] &= ~mark;
    }
}

void start_filling(Thread *t, Place at, u32 bytes, u32 site) {
    const u16 *readers = readers_of(at.slot);
    for (u32 i = at.offset; i < at.offset + bytes; i += PIECE)
        if (UNLIKELY(readers[i / PIECE])) {
            finding(t, 8011, site, i, PIECE, "a copy overwrites shared memory that asynchronous work still reads");
            break;
        }
    memset(at.slot->shared_state + at.offset, STATE_FILLING, bytes);
}

void stop_filling(Thread *t, Place at, u32 bytes, u32 site) {
    for (u32 i = at.offset; i < at.offset + bytes; i++) {
        if (LIKELY(at.slot->shared_state[i] & STATE_FILLING)) continue;
        clash(t, (Place){at.slot, i}, site, "shared memory is written while an asynchronous copy into it is under way");
        break;
    }
    touch_place(t, at, bytes, ACCESS_WRITE, site);
    memset(at.slot->shared_state + at.offset, STATE_INIT | STATE_ASYNC, bytes);
}

void need_proxy_fence(Thread *t, Place at, u32 bytes, u32 site) {
    Runtime *rt = runtime_of(t);
    Hopper *h = hopper_of(rt);
    const u64 mark = STATE_ASYNC * 0x0101010101010101ull;
    for (u32 i = at.offset; i < at.offset + bytes; i += PIECE) {
        const u64 *state = (const u64 *)(at.slot->shared_state + i);
        if (LIKELY((state[0] & state[1] & mark) == mark)) continue;
        u32 w = ((const Cell *)at.slot->cells)[i >> rt->shared_shift].w;
        if (!w || w < warp_async(t)->proxy_fenced) continue;  // the reader itself fenced since
        Segment g = rt->segments[segment_of(w)];
        if (g.block == at.slot->block.linear && w < h->warps[at.slot->index * MAX_WARPS + g.warp].proxy_fenced) continue;
        clash(t, (Place){at.slot, i}, site, "asynchronous work reads ordinary writes without a fence.proxy.async between");
        return;
    }
}

void fence_proxy(Thread *t, u32 site) {
    t->warp->segment = 0;
    warp_async(t)->proxy_fenced = runtime_of(t)->next_stamp;
}
#else
void touch_place(Thread *t, Place at, u32 bytes, u32 kind, u32 site) {}
void touch_atomically(Thread *t, Place at, u32 bytes, u32 site) {}
void start_reading(Thread *t, Place at, u32 bytes, u32 site) {}
void stop_reading(Thread *t, Place at, u32 bytes, u32 site, const char *what) {}
void start_filling(Thread *t, Place at, u32 bytes, u32 site) {}
void stop_filling(Thread *t, Place at, u32 bytes, u32 site) {}
void need_proxy_fence(Thread *t, Place at, u32 bytes, u32 site) {}
void fence_proxy(Thread *t, u32 site) {}
#endif

void hopper_start_block(Slot *s) {
    Hopper *h = s->rt->hopper;
    if (!h) return;
    memset(&h->threads[s->index * s->rt->threads], 0, s->rt->threads * sizeof *h->threads);
    for (u32 i = 0; i < MAX_WARPS; i++) {
        free(h->warps[s->index * MAX_WARPS + i].operands);
        h->warps[s->index * MAX_WARPS + i] = (WarpAsync){0};
    }
    h->cluster_barriers[s->index] = 0;
#ifdef CHECK
    // Other blocks of the cluster do not know where this block's time began.
    if (s->rt->cluster > 1) {
        memset(s->cells, 0, ((s->block.shared_bytes >> s->rt->shared_shift) + 1) * sizeof(Cell));
        mark_red(s);
    }
#endif
    if (h->readers[s->index]) memset(h->readers[s->index], 0, (s->block.shared_bytes / PIECE + 1) * sizeof(u16));
}
