// mbarriers. The 64 bits in shared memory: pending arrivals (20 bits), expected arrivals (20), bytes that copies still owe
// (22, signed), the phase's parity (1), and a zero that poisoned memory has not.
// Arrivals release and waits acquire, through the SyncObject of the barrier's address.
#include "hopper_engine.h"
#include "order.h"
#include <stdio.h>
#include <stdlib.h>

enum { COUNT_MASK = 0xfffff, MOST_POLLS = 2000 };
typedef struct State { s32 pending, expected, bytes; u32 parity; } State;

typedef struct LateArrival {  // arrives when the copies that a thread has made so far are done
    struct LateArrival *next;
    Thread *thread;
    Place barrier;
    u32 site;
} LateArrival;

static State unpack(u64 word) {
    return (State){word & COUNT_MASK, word >> 20 & COUNT_MASK, (s32)((u32)(word >> 40) << 10) >> 10, word >> 62 & 1};
}
static u64 pack(State s) {
    return (u64)(s.pending & COUNT_MASK) | (u64)(s.expected & COUNT_MASK) << 20 | (u64)(s.bytes & 0x3fffff) << 40 | (u64)s.parity << 62;
}

static u64 *word_of(Place p) { return (u64 *)host_of(p); }

// The barrier at an address, checked; 0 after a report. A use reads what init wrote, so it must be ordered after it.
int find_mbarrier(Thread *t, u32 at, u32 site, Place *p) {
    if (!find_place(t, at, 8, 8, site, p)) return 0;
#ifdef CHECK
    if (UNLIKELY(!(p->slot->shared_state[p->offset] & STATE_MBARRIER))) {
        finding(t, 8005, site, p->offset, 8, "an mbarrier that was not initialised, or was overwritten");
        return 0;
    }
    touch_place(t, *p, 8, ACCESS_READ, site);
#endif
    return 1;
}

static void mark(Place p, u32 bits) {
#ifdef CHECK
    memset(p.slot->shared_state + p.offset, bits, 8);
#endif
}

static SyncObject *sync_of(Thread *t, Place p) { return sync_at(t, host_of(p)); }

static void put(Thread *t, Place p, State s) {
    if (s.pending == 0 && s.bytes == 0) {
        s.pending = s.expected;
        s.parity ^= 1;
    }
    *word_of(p) = pack(s);
    hopper_of(runtime_of(t))->activity++;
}

void mbarrier_init(Thread *t, u32 at, u32 count, u32 site) {
    Place p;
    if (!find_place(t, at, 8, 8, site, &p)) return;
    if (UNLIKELY(count - 1 >= COUNT_MASK)) {
        finding(t, 8022, site, p.offset, 8, "an mbarrier expects between 1 and 2^20 - 1 arrivals");
        count = 1;
    }
    touch_place(t, p, 8, ACCESS_WRITE, site);
    mark(p, STATE_INIT | STATE_MBARRIER);
    *word_of(p) = pack((State){count, count, 0, 0});
}

void mbarrier_inval(Thread *t, u32 at, u32 site) {
    Place p;
    if (!find_mbarrier(t, at, site, &p)) return;
    touch_place(t, p, 8, ACCESS_WRITE, site);
    mark(p, 0);
}

static u64 arrive(Thread *t, Place p, u32 count, u32 bytes, u32 flags, u32 site) {
    u64 before = *word_of(p);
    State s = unpack(before);
    if (flags & MBARRIER_RELAXED) sync_store(t, host_of(p));  // what a fence covers
    else sync_release(t, sync_of(t, p));
    if (flags & MBARRIER_EXPECT) s.bytes += bytes;
    if (UNLIKELY(count > (u32)s.pending)) {
        finding(t, 8022, site, p.offset, count, "more arrivals at an mbarrier than it expects in this phase");
        return before;
    }
    s.pending -= count;
    if (flags & MBARRIER_DROP) s.expected -= count;
    if (UNLIKELY(flags & MBARRIER_NO_COMPLETE && s.pending == 0 && s.bytes == 0))
        finding(t, 8022, site, p.offset, count, "an arrival with .noComplete completes the phase");
    put(t, p, s);
    return before;
}

u64 mbarrier_arrive(Thread *t, u32 at, u32 count, u32 bytes, u32 flags, u32 site) {
    Place p;
    return find_mbarrier(t, at, site, &p) ? arrive(t, p, count, bytes, flags, site) : 0;
}

static void add_bytes(Thread *t, Place p, s32 bytes, u32 site) {
    State s = unpack(*word_of(p));
    s.bytes += bytes;
    if (UNLIKELY(s.bytes > COUNT_MASK || s.bytes < -COUNT_MASK))
        finding(t, 8022, site, p.offset, 8, "the transaction count of an mbarrier overflows");
    put(t, p, s);
}

void mbarrier_expect_tx(Thread *t, u32 at, u32 bytes, u32 site) {
    Place p;
    if (find_mbarrier(t, at, site, &p)) add_bytes(t, p, (s32)bytes, site);
}
void mbarrier_complete_tx(Thread *t, u32 at, u32 bytes, u32 site) {
    Place p;
    if (find_mbarrier(t, at, site, &p)) add_bytes(t, p, -(s32)bytes, site);
}
void complete_bytes(Thread *t, Place barrier, u32 bytes, u32 site) { add_bytes(t, barrier, -(s32)bytes, site); }

// ---- cp.async.mbarrier.arrive. What a thread copies after it, before anybody waits, is done with the rest: a little early.
void cp_async_mbarrier(Thread *t, u32 at, u32 counted, u32 site) {
    Hopper *h = hopper_of(runtime_of(t));
    Place p;
    if (!find_mbarrier(t, at, site, &p)) return;
    if (!counted) {
        State s = unpack(*word_of(p));
        s.pending++;
        *word_of(p) = pack(s);
    }
    LateArrival *a = malloc(sizeof *a);
    if (!a) abort();
    *a = (LateArrival){h->late, t, p, site};
    h->late = a;
}

static int same_place(Place a, Place b) { return a.slot == b.slot && a.offset == b.offset; }

static void arrive_late(Hopper *h, Place p) {
    s32 waiting = 0;
    for (LateArrival *a = h->late; a; a = a->next) waiting += same_place(a->barrier, p);
    if (!waiting || waiting < unpack(*word_of(p)).pending) return;  // others have yet to come
    for (LateArrival **from = &h->late, *a; (a = *from);) {
        if (!same_place(a->barrier, p)) {
            from = &a->next;
            continue;
        }
        *from = a->next;
        cp_async_wait_all(a->thread);
        arrive(a->thread, p, 1, 0, 0, a->site);
        free(a);
    }
}

// ---- waiting
static int is_over(Place p, u64 state_or_parity, u32 flags) {
    u32 old = flags & MBARRIER_PARITY ? state_or_parity & 1 : unpack(state_or_parity).parity;
    return unpack(*word_of(p)).parity != old;
}

static void stuck(Thread *t, Place p, u32 site) {
    State s = unpack(*word_of(p));
    char what[128];
    snprintf(what, sizeof what, "no thread can go on; an mbarrier lacks %d arrivals and %d bytes", s.pending, s.bytes);
    finding(t, 8024, site, p.offset, 8, what);
    stop_launch(t, 8024);
}

// Whether the phase is over. If only copies are missing, they are done now.
static int poll(Thread *t, Place p, u64 state_or_parity, u32 flags) {
    if (is_over(p, state_or_parity, flags)) return 1;
    arrive_late(hopper_of(runtime_of(t)), p);
    if (unpack(*word_of(p)).pending == 0) finish_copies(t, p);
    return is_over(p, state_or_parity, flags);
}

u8 mbarrier_test(Thread *t, u32 at, u64 state_or_parity, u32 flags, u32 site) {
    Hopper *h = hopper_of(runtime_of(t));
    ThreadAsync *mine = thread_async(t);
    Place p;
    if (UNLIKELY(!find_mbarrier(t, at, site, &p))) stop_launch(t, 8005);
    int over = poll(t, p, state_or_parity, flags);
    if (!over) {
        spin_yield(t, site);
        over = poll(t, p, state_or_parity, flags);
    }
    if (over) {
        mine->polls = 0;
        sync_acquire(t, sync_of(t, p));  // with .relaxed too: a fence may follow
        return 1;
    }
    if (mine->seen != h->activity) mine->polls = 0;
    mine->seen = h->activity;
    if (++mine->polls > MOST_POLLS) stuck(t, p, site);
    return 0;
}

void free_late(Hopper *h) {
    for (LateArrival *a = h->late, *next; a; a = next) {
        next = a->next;
        free(a);
    }
}
