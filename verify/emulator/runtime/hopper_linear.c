// Bulk copies of bytes in a row, and stores that complete at an mbarrier.
#include "hopper_copies.h"

static int good_size(Thread *t, u32 bytes, u32 site) {
    if (LIKELY(bytes % PIECE == 0)) return 1;
    finding(t, 8004, site, bytes, bytes, "a bulk copy whose size is no multiple of 16 bytes");
    return 0;
}

static int good_global(Thread *t, u64 addr, u32 bytes, u32 site) {
    if (LIKELY(addr % PIECE == 0)) return good_size(t, bytes, site);
    finding(t, 8004, site, addr, bytes, "a bulk copy whose global address is no multiple of 16");
    return 0;
}

static BulkCopy *row(Thread *t, Place shared, u64 global, u32 bytes, u32 site) {
    BulkCopy *c = new_copy(t, bytes / PIECE, site);
    c->place = shared;
    c->bytes = bytes;
    for (u32 i = 0; i < bytes; i += PIECE) c->pieces[c->n++] = (Piece){global + i, shared.offset + i, 0, PIECE};
    return c;
}

u32 destinations(Thread *t, u32 to, u32 bytes, u32 align, u32 barrier, s32 multicast, u32 site, Destination *found) {
    u32 n = 0;
    if (multicast == NO_MULTICAST)
        return find_place(t, to, bytes, align, site, &found->place) && find_mbarrier(t, barrier, site, &found->barrier);
    for (u32 rank = 0; rank < MOST_BLOCKS; rank++) {
        if (!(multicast >> rank & 1)) continue;
        if (!find_place(t, (u32)mapa_shared(t, to, rank), bytes, align, site, &found[n].place)) return 0;
        if (!find_mbarrier(t, (u32)mapa_shared(t, barrier, rank), site, &found[n].barrier)) return 0;
        n++;
    }
    return n;
}

void bulk_load(Thread *t, u32 to, u64 from, u32 bytes, u32 barrier, s32 multicast, u32 site) {
    Destination found[MOST_BLOCKS];
    if (!good_global(t, from, bytes, site)) return;
    u32 n = destinations(t, to, bytes, PIECE, barrier, multicast, site, found);
    for (u32 i = 0; i < n; i++) {
        BulkCopy *c = row(t, found[i].place, from, bytes, site);
        c->barrier = found[i].barrier;
        start_load(t, c);
    }
}

void bulk_to_cluster(Thread *t, u32 to, u32 from, u32 bytes, u32 barrier, u32 site) {
    Place target, source, at;
    if (!good_size(t, bytes, site) || !find_place(t, to, bytes, PIECE, site, &target)) return;
    if (!find_place(t, from, bytes, PIECE, site, &source) || !find_mbarrier(t, barrier, site, &at)) return;
    BulkCopy *c = row(t, target, source.offset, bytes, site);
    c->from_shared = source;
    c->barrier = at;
    start_load(t, c);
}

void bulk_reduce(Thread *t, u64 to, u32 from, u32 bytes, Reduce op, ReduceType type, u32 site) {
    Place source;
    if (!good_global(t, to, bytes, site) || !find_place(t, from, bytes, PIECE, site, &source)) return;
    BulkCopy *c = row(t, source, to, bytes, site);
    c->reduce = op;
    c->type = type;
    start_store(t, c);
}

void bulk_store(Thread *t, u64 to, u32 from, u32 bytes, u32 site) {
    bulk_reduce(t, to, from, bytes, REDUCE_NONE, REDUCE_u32, site);
}

// st.async and red.async happen at once: who waits for the mbarrier sees them, others are told of a race.
void store_async(Thread *t, u32 to, const void *value, u32 bytes, Reduce op, ReduceType type, u32 barrier, u32 site) {
    Place target, at;
    if (!find_place(t, to, bytes, bytes, site, &target) || !find_mbarrier(t, barrier, site, &at)) return;
    if (op == REDUCE_NONE) {
        touch_place(t, target, bytes, ACCESS_WRITE, site);
        memcpy(host_of(target), value, bytes);
    } else {
        AT_CLUSTER(bytes, to, site, ORD_RELAXED);  // checked and recorded as an atomic
        reduce_into(host_of(target), value, op, type);
    }
    sync_release(t, sync_at(t, host_of(at)));
    complete_bytes(t, at, bytes, site);
}
