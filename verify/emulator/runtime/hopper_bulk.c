// Bulk copies under way. A copy is a list of pieces of at most 16 bytes, made when it is issued.
// Loads are done when somebody waits at their mbarrier and nothing but copies is missing. Stores read shared memory when
// their group is waited for with .read (or at all), and write global memory when it is waited for without; at the latest when
// their thread exits. Checks of order are those of the issuing thread: what the copy touches must be ordered before the issue.
#include "hopper_copies.h"
#include <stdlib.h>

BulkCopy *new_copy(Thread *t, u32 pieces, u32 site) {
    BulkCopy *c = calloc(1, sizeof *c + pieces * sizeof *c->pieces);
    if (!c) abort();
    c->issuer = t;
    c->site = site;
    return c;
}

void free_copy(BulkCopy *c) {
    free(c->data);
    free(c);
}

static void enqueue(Thread *t, BulkCopy *c) {
    BulkCopy **end = &hopper_of(runtime_of(t))->copies;
    while (*end) end = &(*end)->next;
    *end = c;
}

// The longest naturally aligned part at addr.
INL u32 part_at(u64 addr, u32 bytes) {
    u32 n = PIECE;
    while (n > bytes || addr & (n - 1)) n >>= 1;
    return n;
}

static void check_source(Thread *t, u64 addr, u32 bytes, u32 site) {
    for (u32 i = 0, n; i < bytes; i += n) {
        n = part_at(addr + i, bytes - i);
        if (!access_global(t, addr + i, n, ACCESS_READ, site)) return;
    }
}

static void write_global(Thread *t, u64 addr, const u8 *data, u32 bytes, u32 site) {
    for (u32 i = 0, n; i < bytes; i += n) {
        n = part_at(addr + i, bytes - i);
        st_global_n(t, n, addr + i, site, data + i, ORD_WEAK);
    }
}

void start_load(Thread *t, BulkCopy *c) {
    for (u32 i = 0; i < c->n; i++) {
        const Piece *p = &c->pieces[i];
        Place to = {c->place.slot, p->shared};
        if (p->bytes) {
            if (c->from_shared.slot) {
                Place from = {c->from_shared.slot, (u32)p->global};
                touch_place(t, from, PIECE, ACCESS_READ, c->site);
                need_proxy_fence(t, from, PIECE, c->site);
            } else check_source(t, p->global, p->bytes, c->site);
        }
        touch_place(t, to, PIECE, ACCESS_WRITE, c->site);
        start_filling(t, to, PIECE, c->site);
    }
    if (c->from_shared.slot) start_reading(t, c->from_shared, c->bytes, c->site);
    sync_release(t, sync_at(t, host_of(c->barrier)));
    enqueue(t, c);
}

// The writes are the issuer's, as of now: known to those who wait. Of an issuer in another block, they are the waiter's.
static void finish_load(Thread *waiter, BulkCopy *c) {
    SyncObject *sync = sync_at(waiter, host_of(c->barrier));
    Thread *t = slot_of(c->issuer) == c->place.slot ? c->issuer : waiter;
    if (t == waiter) sync_acquire(t, sync);
    if (c->from_shared.slot)
        stop_reading(c->issuer, c->from_shared, c->bytes, c->site, "shared memory is overwritten while a bulk copy reads it");
    for (u32 i = 0; i < c->n; i++) {
        const Piece *p = &c->pieces[i];
        u8 data[PIECE] = {0};
        const u8 *from = c->from_shared.slot ? c->from_shared.slot->block.shared + p->global : (const u8 *)p->global;
        if (p->bytes && (c->from_shared.slot || is_mapped(t, p->global, p->bytes))) memcpy(data + p->skip, from, p->bytes);
        stop_filling(t, (Place){c->place.slot, p->shared}, PIECE, c->site);
        memcpy(c->place.slot->block.shared + p->shared, data, PIECE);
    }
    sync_release(t, sync);
    complete_bytes(t, c->barrier, c->bytes, c->site);
}

void finish_copies(Thread *t, Place barrier) {
    for (BulkCopy **from = &hopper_of(barrier.slot->rt)->copies, *c; (c = *from);) {
        if (c->is_store || c->barrier.slot != barrier.slot || c->barrier.offset != barrier.offset) {
            from = &c->next;
            continue;
        }
        *from = c->next;
        finish_load(t, c);
        free_copy(c);
    }
}

// Lanes of a warp may all issue one store (the CuTe DSL's do): it is done once.
static int issued_by_other_lane(Thread *t, const BulkCopy *c) {
    for (const BulkCopy *o = hopper_of(runtime_of(t))->copies; o; o = o->next)
        if (o->is_store && !o->data && !o->reduce && o->site == c->site && o->issuer != t && o->issuer->warp == t->warp
            && o->group == c->group && o->n == c->n && !memcmp(o->pieces, c->pieces, c->n * sizeof *c->pieces))
            return 1;
    return 0;
}

void start_store(Thread *t, BulkCopy *c) {
    c->group = thread_async(t)->bulk_group;
    if (!c->reduce && issued_by_other_lane(t, c)) {
        free_copy(c);
        return;
    }
    for (u32 i = 0; i < c->n; i++) {
        Place from = {c->place.slot, c->pieces[i].shared};
        touch_place(t, from, PIECE, ACCESS_READ, c->site);
        need_proxy_fence(t, from, PIECE, c->site);
    }
    start_reading(t, c->place, c->bytes, c->site);
    c->is_store = 1;
    enqueue(t, c);
}

static void read_source(BulkCopy *c) {
    if (c->data) return;
    if (!(c->data = malloc(c->n * PIECE + 1))) abort();
    stop_reading(c->issuer, c->place, c->bytes, c->site, "shared memory is overwritten while a bulk copy reads it");
    for (u32 i = 0; i < c->n; i++) memcpy(c->data + i * PIECE, c->place.slot->block.shared + c->pieces[i].shared, PIECE);
}

static void finish_store(BulkCopy *c) {
    Thread *t = c->issuer;
    read_source(c);
    for (u32 i = 0; i < c->n; i++) {
        const Piece *p = &c->pieces[i];
        const u8 *data = c->data + i * PIECE + p->skip;
        if (!p->bytes) continue;
        if (c->reduce) {
            u32 size = reduce_bytes(c->type);
            for (u32 k = 0; k < p->bytes; k += size)
                reduce_into(AT_GLOBAL(size, p->global + k, c->site, ORD_RELAXED), data + k, c->reduce, c->type);
            continue;
        }
        write_global(t, p->global, data, p->bytes, c->site);
    }
}

void bulk_commit(Thread *t) { thread_async(t)->bulk_group++; }

void bulk_wait(Thread *t, u32 pending, u32 read_only) {
    u32 group = thread_async(t)->bulk_group;
    for (BulkCopy **from = &hopper_of(runtime_of(t))->copies, *c; (c = *from);) {
        if (!c->is_store || c->issuer != t || c->group + pending >= group) {
            from = &c->next;
            continue;
        }
        if (read_only) {
            read_source(c);
            from = &c->next;
            continue;
        }
        *from = c->next;
        finish_store(c);
        free_copy(c);
    }
}

void hopper_thread_exit(Thread *t) {
    Hopper *h = runtime_of(t)->hopper;
    if (LIKELY(!h)) return;
    for (BulkCopy **from = &h->copies, *c; (c = *from);) {
        if (!c->is_store || c->issuer != t) {
            from = &c->next;
            continue;
        }
        if (!c->data)
            finding(t, 8011, c->site, c->place.offset, c->bytes, "the thread exits before its bulk copy was waited for: it may still read shared memory");
        *from = c->next;
        finish_store(c);
        free_copy(c);
    }
    wgmma_thread_exit(t);
    cluster_thread_exit(t);
}

void hopper_end(Runtime *rt) {
    Hopper *h = rt->hopper;
    if (!h) return;
    for (BulkCopy *c = h->copies, *next; c; c = next) {
        next = c->next;
        free_copy(c);
    }
    free_late(h);
    for (u32 i = 0; i < rt->n_slots; i++) free(h->readers[i]);
    for (u32 i = 0; i < rt->n_slots * MAX_WARPS; i++) free(h->warps[i].operands);
    free(h->readers);
    free(h->cluster_barriers);
    free(h->threads);
    free(h->warps);
    free(h);
    rt->hopper = NULL;
}
