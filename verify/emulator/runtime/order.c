// What orders accesses: collectives, barriers, and synchronisation through memory.
//
// Inside a block a warp knows others by bounds on stamps. Between blocks, and through memory, a SyncObject keeps a log of
// releases; whoever acquires notes how much of the log it saw, and a clash is looked up there (acquired_knows), which is rare.
// It errs on the side of silence: an atomic or ordered store releases what a fence of its *warp* covers; after a barrier, a
// fence of any participant covers all of them; an atomic or ordered load acquires without a fence, whatever its scope. What a
// fence of block scope covers is released to the own block only.
#ifdef CHECK
#include "order.h"
#include <stdlib.h>

typedef struct Release {
    u32 block, warp;             // the releaser
    struct Fenced near, wide;    // what the own block is told and what all are: below which stamps the releaser knew itself
                                 // and its block, and how much its block had acquired
    struct AcquiredList *acquired;
    u32 previous;                // release of the same block in this log + 1
    u32 has_known, known[MAX_WARPS];  // beyond base, by warp
} Release;

struct SyncObject {
    const void *host;
    SyncObject *next;            // of the same hash
    Release *log;
    u32 n, max, seen;            // the first `seen` releases are in somebody's acquired list
    u32 *last, n_last;           // by hash of the block: its last release + 1
    u32 visited, visit;          // of acquired_knows
    u32 only;                    // the only block that released here; SEVERAL
    u32 joined[MAX_WARPS];       // how much of the log each warp of that block has taken over
};
enum { SEVERAL = ~0u };

typedef struct Acquired { SyncObject *object; u32 n, warp, time; } Acquired;

typedef struct AcquiredList {    // of one block, oldest first; outlives the block when a release refers to it
    struct AcquiredList *older;
    Acquired *items;
    u32 n, max, published;
} AcquiredList;

typedef struct SyncTable {
    SyncObject **heads;
    u32 n, n_heads, visit;
    AcquiredList *published;
    struct { SyncObject *object; u32 from, n, near; } *queue;  // of acquired_knows; near: acquired by the asking block
    u32 max_queue;
} SyncTable;

INL u64 hash(u64 x) { return (x * 0x9E3779B97F4A7C15ull) >> 32; }

INL void raise(u32 *bound, u32 to) { if (to > *bound) *bound = to; }

void order_lanes(Warp *w, u32 lanes) {
    u32 now = w->slot->rt->next_stamp;
    w->segment = w->plain = 0;
    if (lanes == w->live) {
        w->lane_base = now;
        return;
    }
    if (!(lanes & (lanes - 1))) return;
    if (!w->seen && !(w->seen = calloc(32 * 32, sizeof *w->seen))) abort();
    u32 joined[32] = {0};
    for (u32 m = lanes; m; m &= m - 1)
        for (u32 o = 0; o < 32; o++) raise(&joined[o], w->seen[__builtin_ctz(m) * 32 + o]);
    for (u32 m = lanes; m; m &= m - 1) joined[__builtin_ctz(m)] = now;
    for (u32 m = lanes; m; m &= m - 1) memcpy(&w->seen[__builtin_ctz(m) * 32], joined, sizeof joined);
}

static void need_known(Slot *s) {
    if (!s->known && !(s->known = calloc(MAX_WARPS, sizeof *s->known))) abort();
}

void order_arrive(Thread *t, Barrier *b) {
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    w->segment = 0;
    if (!b->expected || b->expected == s->block.threads) return;  // of the whole block: nothing to remember
    raise(&b->base, w->base);
    if (s->known)
        for (u32 y = 0; y < MAX_WARPS; y++) raise(&b->known[y], s->known[w->index][y]);
    raise(&b->known[w->index], s->rt->next_stamp);
}

void order_barrier(Slot *s, Barrier *b, u32 whole) {
    u32 now = s->rt->next_stamp, fenced = 0, wide = 0;
    whole |= !b->expected || b->expected == s->block.threads;
    for (u32 i = 0; i < s->rt->warps; i++) {
        const Warp *w = &s->warps[i];
        if (!whole && !b->lanes[i]) continue;
        fenced |= w->fenced.own > w->fenced.base;
        wide |= w->fenced_wide.own > w->fenced_wide.base;
    }
    if (!whole) need_known(s);
    for (u32 i = 0; i < s->rt->warps; i++) {
        Warp *w = &s->warps[i];
        if (!whole && !b->lanes[i]) continue;
        if (whole) {
            w->segment = 0;
            w->base = w->lane_base = now;
            w->plain = 1;
        } else {
            raise(&w->base, b->base);
            for (u32 y = 0; y < MAX_WARPS; y++) raise(&s->known[i][y], b->known[y]);
            order_lanes(w, b->lanes[i]);
        }
        struct Fenced all = {now, now, s->acquired ? s->acquired->n : 0};
        if (fenced) w->fenced = all;
        if (wide) w->fenced_wide = all;
    }
    b->base = 0;
    memset(b->known, 0, sizeof b->known);
}

static SyncTable *table_of(Runtime *rt) {
    if (!rt->sync) {
        rt->sync = calloc(1, sizeof *rt->sync);
        rt->sync->n_heads = 1024;
        rt->sync->heads = calloc(rt->sync->n_heads, sizeof *rt->sync->heads);
    }
    return rt->sync;
}

static SyncObject *find(Runtime *rt, const void *host) {
    if (!rt->sync) return NULL;
    SyncObject *o = rt->sync->heads[hash((u64)host) & (rt->sync->n_heads - 1)];
    while (o && o->host != host) o = o->next;
    return o;
}

static SyncObject *add(Runtime *rt, const void *host) {
    SyncTable *table = table_of(rt);
    if (table->n >= table->n_heads) {
        u32 n = table->n_heads * 4;
        SyncObject **heads = calloc(n, sizeof *heads);
        for (u32 i = 0; i < table->n_heads; i++)
            for (SyncObject *o = table->heads[i], *next; o; o = next) {
                SyncObject **head = &heads[hash((u64)o->host) & (n - 1)];
                next = o->next;
                o->next = *head;
                *head = o;
            }
        free(table->heads);
        table->heads = heads;
        table->n_heads = n;
    }
    SyncObject *o = calloc(1, sizeof *o), **head = &table->heads[hash((u64)host) & (table->n_heads - 1)];
    if (!o) abort();
    o->host = host;
    o->next = *head;
    *head = o;
    table->n++;
    return o;
}

SyncObject *sync_new(Launch *l) {  // keyed by an address that is nobody's
    static u64 number;
    return add(l->runtime, (const void *)(++number << 48 | 1));
}

SyncObject *sync_at(Thread *t, const void *host) {
    SyncObject *o = find(runtime_of(t), host);
    return o ? o : add(runtime_of(t), host);
}

// Forgets the releases in the shared memory of one slot; NULL: all.
void forget_syncs(Runtime *rt, Slot *only) {
    for (u32 i = 0; rt->sync && i < rt->sync->n_heads; i++)
        for (SyncObject *o = rt->sync->heads[i]; o; o = o->next)
            if (!only || (u64)((u8 *)o->host - only->block.shared) < only->block.shared_bytes) {
                o->n = o->seen = 0;
                if (o->last) memset(o->last, 0, o->n_last * sizeof *o->last);
            }
}

// A new block starts in the slot (or the slot ends).
void forget_acquired(Slot *s) {
    AcquiredList *list = s->acquired;
    if (!list) return;
    if (!list->published) {
        list->n = 0;
        return;
    }
    list->older = s->rt->sync->published;
    s->rt->sync->published = list;
    s->acquired = NULL;
}

void free_acquired(AcquiredList *list) {
    free(list->items);
    free(list);
}

void free_syncs(Runtime *rt) {
    for (u32 i = 0; rt->sync && i < rt->sync->n_heads; i++)
        for (SyncObject *o = rt->sync->heads[i], *next; o; o = next) {
            next = o->next;
            free(o->log);
            free(o->last);
            free(o);
        }
    if (!rt->sync) return;
    for (AcquiredList *list = rt->sync->published, *older; list; list = older) {
        older = list->older;
        free_acquired(list);
    }
    free(rt->sync->heads);
    free(rt->sync->queue);
    free(rt->sync);
    rt->sync = NULL;
}

// The slot of `last` for a block: its own, or the free one where it goes.
static u32 *last_of(SyncObject *o, u32 block) {
    for (u32 i = hash(block) & (o->n_last - 1);; i = (i + 1) & (o->n_last - 1))
        if (!o->last[i] || o->log[o->last[i] - 1].block == block) return &o->last[i];
}

INL int covers(const struct Fenced *a, const struct Fenced *b) {
    return a->own >= b->own && a->base >= b->base && a->acquired >= b->acquired;
}

INL void widen(struct Fenced *a, const struct Fenced *by) {
    raise(&a->own, by->own);
    raise(&a->base, by->base);
    raise(&a->acquired, by->acquired);
}

// Is what the warp releases in the release already? Waiting by cas releases the same over and over.
static int adds_nothing(const Slot *s, const Warp *w, const Release *r, const struct Fenced *near, const struct Fenced *wide) {
    if (!covers(&r->near, near) || !covers(&r->wide, wide)) return 0;
    for (u32 y = 0; s->known && y < MAX_WARPS; y++)
        if (s->known[w->index][y] > r->known[y]) return 0;
    return 1;
}

static void publish(Thread *t, SyncObject *o, const struct Fenced *near, const struct Fenced *wide) {
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    if (o->n * 2 + 2 > o->n_last) {
        o->n_last = o->n_last ? o->n_last * 4 : 8;
        free(o->last);
        if (!(o->last = calloc(o->n_last, sizeof *o->last))) abort();
        for (u32 i = 0; i < o->n; i++) *last_of(o, o->log[i].block) = i + 1;
    }
    if (!o->n) {
        o->only = s->block.linear;
        memset(o->joined, 0, sizeof o->joined);
    } else if (o->only != s->block.linear) o->only = SEVERAL;
    u32 *last = last_of(o, s->block.linear), i = *last;
    for (u32 k = 0; i && k < 64 && o->log[i - 1].warp != w->index; k++) i = o->log[i - 1].previous;
    Release *r = i && o->log[i - 1].warp == w->index ? &o->log[i - 1] : NULL;
    if (r && adds_nothing(s, w, r, near, wide)) return;
    if (!r || i <= o->seen) {  // else nobody saw it yet: it can grow
        if (o->n == o->max) {
            o->max = o->max ? o->max * 2 : 2;
            if (!(o->log = realloc(o->log, o->max * sizeof *o->log))) abort();
        }
        r = &o->log[o->n++];
        *r = (Release){.block = s->block.linear, .warp = w->index, .previous = *last};
        *last = o->n;
    }
    widen(&r->near, near);
    widen(&r->wide, wide);
    if (near->acquired | wide->acquired) {
        r->acquired = s->acquired;
        s->acquired->published = 1;
    }
    if (!s->known) return;
    r->has_known = 1;
    for (u32 y = 0; y < MAX_WARPS; y++) raise(&r->known[y], s->known[w->index][y]);
}

INL u32 n_acquired(const Slot *s) { return s->acquired ? s->acquired->n : 0; }

void sync_release(Thread *t, SyncObject *o) {
    t->warp->segment = 0;
    runtime_of(t)->any_fence = 1;
    struct Fenced all = {runtime_of(t)->next_stamp, t->warp->base, n_acquired(slot_of(t))};
    publish(t, o, &all, &all);
}

static void take_over(Slot *s, Warp *w, const Release *r) {
    need_known(s);
    raise(&s->known[w->index][r->warp], r->near.own);
    raise(&w->base, r->near.base);
    for (u32 y = 0; r->has_known && y < MAX_WARPS; y++) raise(&s->known[w->index][y], r->known[y]);
}

// Takes over what the warps of the block released. Are there releases of its own warp? They may be another lane's.
static int join(Slot *s, Warp *w, SyncObject *o) {
    int own = 0;
    for (u32 i = o->n; i > o->joined[w->index]; i--) {
        if (o->log[i - 1].warp == w->index) own = 1;
        take_over(s, w, &o->log[i - 1]);
    }
    o->joined[w->index] = o->seen = o->n;
    return own;
}

void sync_acquire(Thread *t, SyncObject *o) {
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    if (!o->n) return;
    w->plain = 0;
    if (o->only == s->block.linear && !join(s, w, o)) return;
    if (o->only == SEVERAL && s->rt->any_narrow)  // what others learn from the search leaves out what is for the block only
        for (u32 i = *last_of(o, s->block.linear); i; i = o->log[i - 1].previous) take_over(s, w, &o->log[i - 1]);
    AcquiredList *list = s->acquired;
    if (!list && !(s->acquired = list = calloc(1, sizeof *list))) abort();
    for (u32 i = list->n; i && i + 8 > list->n; i--) {
        const Acquired *a = &list->items[i - 1];
        if (a->object == o && a->n == o->n && a->warp == w->index && o->seen == o->n) return;
    }
    if (list->n == list->max) {
        list->max = list->max ? list->max * 2 : 16;
        if (!(list->items = realloc(list->items, list->max * sizeof *list->items))) abort();
    }
    w->segment = 0;
    list->items[list->n++] = (Acquired){o, o->n, w->index, s->rt->next_stamp};
    s->rt->next_stamp += STEP;  // so that a barrier from here on lies above
    o->seen = o->n;
}

void order_fence(Thread *t, u32 scope) {
    Warp *w = t->warp;
    Runtime *rt = runtime_of(t);
    w->segment = 0;
    rt->any_fence = 1;
    w->fenced = (struct Fenced){rt->next_stamp, w->base, n_acquired(slot_of(t))};
    if (scope == SCOPE_CTA) rt->any_narrow = 1;
    else w->fenced_wide = w->fenced;
}

void acquire_at(Thread *t, const void *host) {
    SyncObject *o = find(runtime_of(t), host);
    if (o) sync_acquire(t, o);
}

void release_at(Thread *t, const void *host) {
    publish(t, sync_at(t, host), &t->warp->fenced, &t->warp->fenced_wide);
}

// ---- lookups
enum { MOST_STEPS = 50000 };

INL int release_knows(const Release *r, u32 warp, u32 stamp, u32 near) {
    const struct Fenced *f = near ? &r->near : &r->wide;
    if (!f->own) return 0;
    return stamp < f->base || (warp == r->warp && stamp < f->own) || (r->has_known && stamp < r->known[warp]);
}

// Queues the releases of `a` that this search has not been through.
static void queue(SyncTable *table, u32 *n_queue, const Acquired *a, u32 near) {
    SyncObject *o = a->object;
    u32 from = o->visit == table->visit ? o->visited : 0, n = a->n < o->n ? a->n : o->n;
    if (from >= n) return;
    o->visit = table->visit;
    o->visited = n;
    if (*n_queue == table->max_queue) {
        table->max_queue = table->max_queue ? table->max_queue * 2 : 64;
        if (!(table->queue = realloc(table->queue, table->max_queue * sizeof *table->queue))) abort();
    }
    table->queue[(*n_queue)++] = (__typeof__(*table->queue)){o, from, n, near};
}

// Is the access known to the warp of t from what its block acquired, directly or through what the releasers had acquired?
int acquired_knows(Thread *t, u32 block, u32 warp, u32 stamp) {
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    SyncTable *table = s->rt->sync;
    AcquiredList *list = s->acquired;
    u32 steps = 0, n_queue = 0;
    if (!list || !list->n) return 0;
    table->visit++;
    for (u32 k = list->n; k; k--) {
        const Acquired *a = &list->items[k - 1];
        if (a->warp == w->index || a->time < w->base || (s->known && a->time < s->known[w->index][a->warp]))
            queue(table, &n_queue, a, 1);
    }
    for (u32 q = 0; q < n_queue; q++) {
        SyncObject *o = table->queue[q].object;
        u32 from = table->queue[q].from, n = table->queue[q].n, near = table->queue[q].near;
        for (u32 i = *last_of(o, block); i; i = o->log[i - 1].previous)
            if (i <= n && release_knows(&o->log[i - 1], warp, stamp, near && block == s->block.linear)) return 1;
        for (u32 i = n; i > from; i--) {
            const Release *r = &o->log[i - 1];
            u32 own = near && r->block == s->block.linear;
            for (u32 k = own ? r->near.acquired : r->wide.acquired; k; k--) {
                if (++steps > MOST_STEPS) return 1;  // too far to tell: no report
                if (release_knows(r, r->acquired->items[k - 1].warp, r->acquired->items[k - 1].time, own))
                    queue(table, &n_queue, &r->acquired->items[k - 1], own);
            }
        }
    }
    return 0;
}
#endif
