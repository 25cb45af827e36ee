// cp.async: a copy is done when its group is waited for, at the latest moment the hardware may take. So a missing wait reads
// what was there before, or memory that nobody wrote.
#include "engine.h"
#include <stdlib.h>

typedef struct { u64 src; u32 dst, bytes, src_bytes, group, site; } Copy;
struct AsyncCopies { u32 n, max, group; Copy copies[]; };

void start_async(Fiber *f) {
    if (f->async) f->async->n = f->async->group = 0;
}

void free_async(Fiber *f) { free(f->async); }

static AsyncCopies *queue_of(Thread *t) {
    AsyncCopies *q = fiber_of(t)->async;
    if (q && q->n < q->max) return q;
    u32 max = q ? q->max * 2 : 16;
    AsyncCopies *grown = realloc(q, sizeof *q + max * sizeof(Copy));
    if (!grown) abort();
    if (!q) grown->n = grown->group = 0;
    grown->max = max;
    return fiber_of(t)->async = grown;
}

void cp_async(Thread *t, u32 dst, u64 src, u32 bytes, u32 src_bytes, u32 site) {
    AsyncCopies *q = queue_of(t);
    q->copies[q->n++] = (Copy){src, dst, bytes, src_bytes < bytes ? src_bytes : bytes, q->group, site};
}

void cp_async_commit(Thread *t) { queue_of(t)->group++; }

static void copy(Thread *t, const Copy *c) {
    u8 data[16] = {0};
    u32 step = c->src_bytes == c->bytes ? c->bytes : 1;  // a part: its bytes one by one, which need no alignment
    if (c->bytes > sizeof data) return;
    for (u32 i = 0; i < c->src_bytes; i += step) {
        const u8 *from = access_global(t, c->src + i, step, ACCESS_READ, c->site);
        if (from) memcpy(data + i, from, step);
    }
    u8 *to = access_shared(t, c->dst, c->bytes, ACCESS_WRITE, c->site);
    if (to) memcpy(to, data, c->bytes);
}

// Does the copies of groups below `group`.
static void finish(Thread *t, u32 group) {
    AsyncCopies *q = fiber_of(t)->async;
    u32 kept = 0;
    if (!q) return;
    for (u32 i = 0; i < q->n; i++) {
        if (q->copies[i].group < group) copy(t, &q->copies[i]);
        else q->copies[kept++] = q->copies[i];
    }
    q->n = kept;
}

void cp_async_wait(Thread *t, u32 pending) {
    AsyncCopies *q = fiber_of(t)->async;
    if (q && q->group > pending) finish(t, q->group - pending);
}

void cp_async_wait_all(Thread *t) { finish(t, ~0u); }
