// Memory accesses: bounds, alignment and initialisation, then the race checks (order.h). The macros of mem.h end here.
// Without CHECK only the ordered accesses, atomics and copies are left.
#include "order.h"

void local_pop(Thread *t, u8 *local) { t->local_top = local; }

u8 *local_push(Thread *t, u32 bytes, u32 align) {
    u8 *p = (u8 *)(((u64)t->local_top + align - 1) & ~(u64)(align - 1));
    if (UNLIKELY(bytes > t->local_end - p || p > t->local_end)) {
        finding(t, 8003, NO_SITE, 0, bytes, "the call chain needs more local memory than was set aside");
        stop_launch(t, 8003);
    }
    t->local_top = p + bytes;
#ifdef CHECK
    memset(p, 0xAA, bytes);
    memset(t->local_state + (p - t->local), 0, bytes);
#endif
    return p;
}

#ifdef CHECK
INL int all_init(const u8 *state, u32 n) {
    u64 x;
    switch (n) {
    case 1: return *state & STATE_INIT;
    case 2: return (*(const u16 *)state & 0x0101) == 0x0101;
    case 4: return (*(const u32 *)state & 0x01010101) == 0x01010101;
    }
    for (u32 i = 0; i < n; i += 8) {
        u32 k = n - i;
        if (k < 8) {
            for (; i < n; i++) if (!(state[i] & STATE_INIT)) return 0;
            return 1;
        }
        memcpy(&x, state + i, 8);
        if ((x & 0x0101010101010101) != 0x0101010101010101) return 0;
    }
    return 1;
}

INL void set_init(u8 *state, u32 n) {
    switch (n) {
    case 4: *(u32 *)state = 0x01010101; break;
    case 8: *(u64 *)state = 0x0101010101010101; break;
    default: memset(state, STATE_INIT, n);
    }
}

static __attribute__((noinline)) void record_slowly(Thread *t, Cell *c, u32 granules, u32 write, u64 addr, u32 n, u32 site,
                                                    u32 me, u32 global, const void *stored, const u8 *host) {
    Access a = {addr, n, site, me, global, stored, host};
    slow_access(t, c, granules ? granules : 1, write, &a);
}

INL void record(Thread *t, Cell *c, u32 shift, u32 write, u64 addr, u32 n, u32 site, u32 strength, u32 global, const void *stored,
                const u8 *host) {
    u32 me = stamp_of(t, strength), granules = n >> shift;
    if (UNLIKELY(granules > 1 || !quick(t->warp, c, me, site, global, write)))
        record_slowly(t, c, granules, write, addr, n, site, me, global, stored, host);
}

static __attribute__((noinline)) void touch_slowly(Thread *t, u8 *state, u32 n, u32 kind, u32 site, u64 addr) {
    if (kind & ACCESS_READ && !all_init(state, n)) finding(t, 8006, site, addr, n, "read of global memory that nobody wrote");
    for (u32 i = 0; i < n; i++) {
        if (kind & ACCESS_READ && !(state[i] & STATE_WRITTEN)) state[i] |= STATE_READ;
        if (kind & ACCESS_WRITE) state[i] |= STATE_WRITTEN | STATE_INIT;
    }
}

// 1: done. A byte counts as read only where the launch has not written it: STATE_READ is STATE_WRITTEN one bit lower.
#define TOUCH_(T) INL int touch_##T(T *state, u32 kind) { \
    T x = *state, ones = (T)0x0101010101010101ull, add = 0; \
    if (kind & ACCESS_READ) { \
        if (UNLIKELY(~x & STATE_INIT * ones)) return 0; \
        add = STATE_READ * ones & ~(x >> 1); \
    } \
    if (kind & ACCESS_WRITE) add |= (STATE_WRITTEN | STATE_INIT) * ones; \
    if (UNLIKELY(add & ~x)) *state = x | add; \
    return 1; \
}
TOUCH_(u32)
TOUCH_(u64)

INL void touch(Thread *t, u8 *state, u32 n, u32 kind, u32 site, u64 addr) {
    int done = 0;
    if (n == 4) done = touch_u32((u32 *)state, kind);
    else if (n == 8) done = touch_u64((u64 *)state, kind);
    else if (n == 16) done = touch_u64((u64 *)state, kind) && touch_u64((u64 *)state + 1, kind);
    if (UNLIKELY(!done)) touch_slowly(t, state, n, kind, site, addr);
}

// Finds the allocation, the slow way. A misaligned access is reported and not done.
static __attribute__((noinline)) Allocation *find_allocation(Thread *t, u64 addr, u32 n, u32 kind, u32 site) {
    Launch *l = t->launch;
    u32 low = 0, high = l->n_allocations;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (addr - l->allocations[middle].base < l->allocations[middle].size) low = high = middle;
        else if (addr < l->allocations[middle].base) high = middle;
        else low = middle + 1;
        if (low == high && low < l->n_allocations) {
            Allocation *a = &l->allocations[low];
            if (addr - a->base >= a->size || addr - a->base + n > a->size) break;
            if (kind & ACCESS_WRITE && a->read_only) {
                finding(t, 8001, site, addr, n, "write to constant memory");
                return NULL;
            }
            if (addr & (n - 1)) {
                finding(t, 8004, site, addr, n, "misaligned access to global memory");
                return NULL;
            }
            t->site_allocation[site < t->sites ? site : t->sites] = a;
            return a;
        }
    }
    finding(t, 8001, site, addr, n, kind & ACCESS_WRITE ? "write outside of every allocation" : "read outside of every allocation");
    return NULL;
}

INL u8 *global_(Thread *t, u64 addr, u32 n, u32 kind, u32 site, u32 strength, const void *stored) {
    Allocation *a = t->site_allocation[UNLIKELY(site == NO_SITE) ? t->sites : site];
    u64 offset = addr - a->base;
    if (UNLIKELY(offset >= a->size || offset + n > a->size || addr & (n - 1) || (kind & ACCESS_WRITE && a->read_only))) {
        if (!(a = find_allocation(t, addr, n, kind, site))) return NULL;
        offset = addr - a->base;
    }
    if (a->state) touch(t, a->state + offset, n, kind, site, addr);
    if (LIKELY(a->cells != NULL)) {
        record(t, cell_of(a, addr, t->global_shift), t->global_shift, kind & ACCESS_WRITE, addr, n, site, strength, 1, stored, (u8 *)addr);
    }
    return (u8 *)addr;
}

static __attribute__((noinline)) u8 *bad_shared(Thread *t, u32 addr, u32 n, u32 kind, u32 site) {
    if (addr >= t->block->shared_bytes || addr + n > t->block->shared_bytes)
        finding(t, 8002, site, addr, n, kind & ACCESS_WRITE ? "write outside of shared memory" : "read outside of shared memory");
    else finding(t, 8004, site, addr, n, "misaligned access to shared memory");
    return NULL;
}

INL u8 *shared_(Thread *t, u32 addr, u32 n, u32 kind, u32 site, u32 strength, const void *stored) {
    u8 *host = t->shared + addr, *state = t->shared_state + addr;
    if (UNLIKELY((u64)addr + n > t->shared_bytes || addr & (n - 1))) return bad_shared(t, addr, n, kind, site);
    if (kind & ACCESS_READ && UNLIKELY(!all_init(state, n)))
        finding(t, 8005, site, addr, n, "read of shared memory that nobody wrote");
    if (kind & ACCESS_WRITE) set_init(state, n);
    record(t, t->shared_cells + (addr >> t->shared_shift), t->shared_shift, kind & ACCESS_WRITE, addr, n, site, strength, 0, stored,
           host);
    return host;
}

INL u8 *local_(Thread *t, u64 addr, u32 n, u32 kind, u32 site) {
    u64 offset = addr - (u64)t->local;
    if (UNLIKELY(offset >= (u64)(t->local_top - t->local) || offset + n > (u64)(t->local_top - t->local))) {
        finding(t, 8003, site, addr, n, kind & ACCESS_WRITE ? "write outside of local memory" : "read outside of local memory");
        return NULL;
    }
    if (UNLIKELY(addr & (n - 1))) {
        finding(t, 8004, site, addr, n, "misaligned access to local memory");
        return NULL;
    }
    u8 *state = t->local_state + offset;
    if (kind & ACCESS_READ && UNLIKELY(!all_init(state, n)))
        finding(t, 8007, site, addr, n, "read of local memory that was not written");
    if (kind & ACCESS_WRITE) set_init(state, n);
    return (u8 *)addr;
}

INL int in_shared(const Thread *t, u64 addr) { return addr - (u64)t->shared < t->block->shared_bytes; }
INL int in_local(const Thread *t, u64 addr) { return addr - (u64)t->local < (u64)(t->local_end - t->local); }

INL u8 *generic_(Thread *t, u64 addr, u32 n, u32 kind, u32 site, u32 strength, const void *stored) {
    if (in_shared(t, addr)) return shared_(t, addr - (u64)t->shared, n, kind, site, strength, stored);
    if (in_local(t, addr)) return local_(t, addr, n, kind, site);
    return global_(t, addr, n, kind, site, strength, stored);
}
#define local_(t, a, n, kind, site, strength, stored) local_(t, a, n, kind, site)

u8 *param_at(Thread *t, u64 a, u32 bytes, u32 site, const u64 (*known)[2], u32 n) {
    for (u32 i = 0; i < n; i++) {
        if (a - known[i][0] >= known[i][1] || a - known[i][0] + bytes > known[i][1]) continue;
        if (!(a & (bytes - 1)) || bytes & (bytes - 1)) return (u8 *)a;
        finding(t, 8004, site, a, bytes, "misaligned access to parameters");
        return memset(runtime_of(t)->scratch, 0, sizeof runtime_of(t)->scratch);
    }
    finding(t, 8008, site, a, bytes, "access outside of the parameters");
    return memset(runtime_of(t)->scratch, 0, sizeof runtime_of(t)->scratch);
}

u32 left_variable(Thread *t, u32 a, u32 bytes, u32 site) {
    finding(t, 8002, site, a, bytes, "access outside of the variable of shared memory that the address comes from");
    return ~0u;
}

#define CHECKED(space, A, T) \
    T ld_##space##_##T(Thread *t, A a, u32 site) { \
        const u8 *p = space##_(t, a, sizeof(T), ACCESS_READ, site, KIND_WEAK, NULL); \
        return LIKELY(p != NULL) ? *(const T *)p : 0; \
    } \
    void st_##space##_##T(Thread *t, A a, T v, u32 site) { \
        u8 *p = space##_(t, a, sizeof(T), ACCESS_WRITE, site, KIND_WEAK, &v); \
        if (LIKELY(p != NULL)) *(T *)p = v; \
    }
#define ALL_CHECKED(T) CHECKED(global, u64, T) CHECKED(shared, u32, T) CHECKED(local, u64, T) CHECKED(generic, u64, T)
EMU_WIDTHS_(ALL_CHECKED)
#else
#define global_(t, a, n, kind, site, strength, stored) ((u8 *)(u64)(a))
#define shared_(t, a, n, kind, site, strength, stored) ((t)->shared + (u32)(a))
#define local_ global_
#define generic_ global_
SyncObject *sync_new(Launch *l) { return NULL; }
SyncObject *sync_at(Thread *t, const void *host) { return NULL; }
void sync_release(Thread *t, SyncObject *s) {}
void sync_acquire(Thread *t, SyncObject *s) {}
void order_lanes(Warp *w, u32 lanes) {}
#endif

void fence(Thread *t, u32 scope) { order_fence(t, scope); }

// Accesses of common sizes are compiled for their size.
#define SIZED(f, ...) \
    (n == 4 ? f(t, 4, __VA_ARGS__) : n == 8 ? f(t, 8, __VA_ARGS__) : n == 16 ? f(t, 16, __VA_ARGS__) : f(t, n, __VA_ARGS__))

// A release is part of what it releases: who acquires it may write the same place, with a plain store too.
#define VECTORS(space, A) \
    INL u8 *load_##space(Thread *t, u32 n, A a, u32 site, u32 strength) { \
        return space##_(t, a, n, ACCESS_READ, site, strength, NULL); \
    } \
    INL u8 *store_##space(Thread *t, u32 n, A a, u32 site, u32 strength, const void *from) { \
        return space##_(t, a, n, ACCESS_WRITE, site, strength, from); \
    } \
    INL u8 *change_##space(Thread *t, u32 n, A a, u32 site, u32 strength) { \
        return space##_(t, a, n, ACCESS_READ | ACCESS_WRITE, site, strength, NULL); \
    } \
    void ld_##space##_n(Thread *t, u32 n, A a, u32 site, void *to, Order o) { \
        u32 strong = is_strong(o), late = strong && before_load(t, site); \
        const u8 *p = SIZED(load_##space, a, site, strength_of(o)); \
        if (p) memcpy(to, p, n); \
        else memset(to, 0, n); \
        if (p && strong) sync_load(t, p); \
        if (p && UNLIKELY(o & IN_UPDATE)) update_load(t, p); \
        if (late) spin_yield(t, site); \
    } \
    void st_##space##_n(Thread *t, u32 n, A a, u32 site, const void *from, Order o) { \
        if (UNLIKELY(o & IN_UPDATE)) update_store(t, (u64)space##_host(t, a), n, a, from, site); \
        u8 *p = SIZED(store_##space, a, site, strength_of(o), from); \
        if (!p) return; \
        if (is_release(o)) order_fence(t, scope_of(o)); \
        if (is_strong(o)) sync_store(t, p); \
        memcpy(p, from, n); \
    } \
    u8 *at_##space(Thread *t, u32 n, A a, u32 site, Order o) { \
        u8 *p = SIZED(change_##space, a, site, strength_of(o)); \
        if (UNLIKELY(!p)) return memset(runtime_of(t)->scratch, 0, sizeof runtime_of(t)->scratch); \
        if (is_release(o)) order_fence(t, scope_of(o)); \
        sync_load(t, p); \
        sync_store(t, p); \
        return p; \
    }
#define global_host(t, a) (a)
#define shared_host(t, a) ((t)->shared + (a))
#define local_host global_host
#define generic_host global_host
VECTORS(global, u64)
VECTORS(shared, u32)
VECTORS(local, u64)
VECTORS(generic, u64)

#define ORDERED(space, A, T) \
    T ldo_##space##_##T(Thread *t, A a, u32 site, Order o) { \
        T v; \
        ld_##space##_n(t, sizeof v, a, site, &v, o); \
        return v; \
    } \
    void sto_##space##_##T(Thread *t, A a, T v, u32 site, Order o) { \
        st_##space##_n(t, sizeof(T), a, site, &v, o); \
    }
#define ALL_ORDERED(T) ORDERED(global, u64, T) ORDERED(shared, u32, T) ORDERED(generic, u64, T)
EMU_WIDTHS_(ALL_ORDERED)

u8 *access_global(Thread *t, u64 a, u32 n, u32 kind, u32 site) { return global_(t, a, n, kind, site, KIND_WEAK, NULL); }
u8 *access_shared(Thread *t, u32 a, u32 n, u32 kind, u32 site) { return shared_(t, a, n, kind, site, KIND_WEAK, NULL); }
u8 *access_generic(Thread *t, u64 a, u32 n, u32 kind, u32 site) { return generic_(t, a, n, kind, site, KIND_WEAK, NULL); }
