// A launch: slots for the resident blocks, their memory, and the loop that starts blocks and runs fibers.
#include "engine.h"
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static void *map(u64 bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

// Stacks are kept for the next launch of this kernel: guarding each costs a system call. But not very many: each takes two
// mappings, of which a process has 65530, and other kernels need some too.
static struct { u8 *base; u64 stack, count; } stacks_;
static void drop_stacks(void) {
    if (stacks_.base) munmap(stacks_.base, (stacks_.stack + PAGE) * stacks_.count);
    stacks_.base = NULL;
}
static u8 *map_stacks(u64 stack, u64 count) {
    if (stacks_.base && stacks_.stack == stack && stacks_.count >= count) return stacks_.base;
    drop_stacks();
    stacks_.base = map((stack + PAGE) * count);
    stacks_.stack = stack;
    stacks_.count = count;
    if (stacks_.base && count <= MOST_GUARDED_FIBERS)  // more would exceed the kernel's number of mappings
        for (u64 i = 0; i < count; i++) mprotect(stacks_.base + i * (stack + PAGE), PAGE, PROT_NONE);
    return stacks_.base;
}

INL Runtime *the_runtime(Runtime *set) {  // a fiber starts without arguments
    static Runtime *current;
    if (set) current = set;
    return current;
}

static void fiber_main(void) {
    Thread *t = the_runtime(NULL)->running;
    t->block->kernel->entry(t, t->launch->params);
    leave_thread(t);
}

INL void place(Thread *t, Slot *s, u32 linear) {
    u32 x = t->launch->block[0], y = t->launch->block[1];
    t->linear = linear;
    t->lane = linear & 31;
    t->lane_bit = 1u << t->lane;
    t->warp = &s->warps[linear >> 5];
    if (t->launch->block[1] * t->launch->block[2] == 1) t->tid[0] = linear;
    else {
        t->tid[0] = linear % x;
        t->tid[1] = linear / x % y;
        t->tid[2] = linear / x / y;
    }
    t->local_top = t->local;
}

static u64 greatest_common_divisor(u64 a, u64 b) { return b ? greatest_common_divisor(b, a % b) : a; }

// A random order of 0 … n-1: i -> i * step + offset (mod n).
static void random_order(Runtime *rt, u64 n, u64 *step, u64 *offset) {
    *offset = next_random(rt) % n;
    do *step = next_random(rt) % n + (n == 1);
    while (greatest_common_divisor(*step, n) != 1);
}

// Without fibers: the threads of the block one after the other, on one stack.
static u32 plain_next_;
static u64 plain_step_, plain_offset_;
static void plain_main(void) {
    Runtime *rt = the_runtime(NULL);
    Slot *s = rt->slots[0];
    Thread *t = &s->threads[0];
    u32 n = rt->threads, schedule = rt->launch->schedule;
    void (*entry)(Thread *, u8 *) = rt->kernel->entry;
    u8 *params = rt->launch->params;
    while (plain_next_ < n) {
        u32 i = plain_next_++;
        if (schedule == SCHEDULE_REVERSE) i = n - 1 - i;
        else if (schedule == SCHEDULE_RANDOM) i = (i * plain_step_ + plain_offset_) % n;
        place(t, s, i);
        entry(t, params);
    }
    leave_thread(t);
}

static void start_block(Slot *s) {
    Runtime *rt = s->rt;
    Launch *l = rt->launch;
    Block *b = &s->block;
    u64 i = rt->next_block++, n = rt->n_blocks / rt->cluster, rank = i % rt->cluster;  // i: of the cluster
    i /= rt->cluster;
    if (!(rt->kernel->flags & KERNEL_RESIDENT)) {  // those that wait for each other start in launch order, as on a GPU
        if (l->schedule == SCHEDULE_REVERSE) i = n - 1 - i;
        else if (l->schedule == SCHEDULE_RANDOM) i = (u64)(((u128)i * rt->step + rt->offset) % n);
    }
    for (u32 k = 0; k < 3; k++) {
        u32 size = rt->cluster == 1 ? 1 : l->cluster[k], clusters = l->grid[k] / size;
        b->ctaid[k] = i % clusters * size + rank % size;
        i /= clusters;
        rank /= size;
    }
    b->linear = b->ctaid[0] + l->grid[0] * (b->ctaid[1] + l->grid[1] * b->ctaid[2]);
    b->live = rt->threads;
    s->active = 1;
    memset(b->shared, 0xAA, b->shared_bytes);
    for (u32 k = 0; k < rt->warps; k++) {
        Warp *w = &s->warps[k];
        u32 n = rt->threads - k * 32;
        w->exists = w->live = n >= 32 ? ~0u : (1u << n) - 1;
        w->runnable = w->yielded = w->waiting = w->at_activemask = 0;
    }
    order_start_block(s);
    hopper_start_block(s);
    if (!rt->fibers) {
        plain_next_ = 0;
        if (l->schedule == SCHEDULE_RANDOM) random_order(rt, rt->threads, &plain_step_, &plain_offset_);
        return;
    }
    start_barriers(s);
    s->ready = 0;
    for (u32 k = 0; k < rt->warps; k++) make_runnable(&s->warps[k], s->warps[k].live);
    for (u32 k = 0; k < rt->threads; k++) {
        Fiber *f = &s->fibers[k];
        f->waits = WAIT_NONE;
        f->site = NO_SITE;
        f->last_load = f->n_changing = 0;
        start_async(f);
        s->threads[k].local_top = s->threads[k].local;
        prepare_fiber(&s->threads[k], fiber_main);
    }
}

static Slot *make_slot(Runtime *rt, u32 index, u8 *stacks, u64 stack) {
    Launch *l = rt->launch;
    const Kernel *k = rt->kernel;
    Slot *s = calloc(1, sizeof *s);
    u32 n = rt->fibers ? rt->threads : 1;
    u64 local = (k->local_bytes + 63ull) & ~63ull;
    if (!s) return NULL;
    s->rt = rt;
    s->index = index;
    s->threads = calloc(n, sizeof *s->threads);
    s->fibers = calloc(n, sizeof *s->fibers);
    s->locals = local ? map(local * 2 * n) : NULL;
    s->block = (Block){.shared_bytes = l->shared_bytes, .threads = rt->threads, .warps = rt->warps, .launch = l,
                       .counts = l->counts, .kernel = k};
    s->block.shared = map(((u64)l->shared_bytes + PAGE) & ~(PAGE - 1ull));
    if (!s->threads || !s->fibers || (local && !s->locals) || !s->block.shared) return NULL;
    for (u32 i = 0; i < MAX_WARPS; i++) {
        s->warps[i].index = i;
        s->warps[i].slot = s;
        s->warps[i].threads = s->threads + (rt->fibers ? i * 32 : 0);
    }
    for (u32 i = 0; i < n; i++) {
        Thread *t = &s->threads[i];
        t->shared = s->block.shared;
        t->block = &s->block;
        t->launch = l;
        t->fiber = &s->fibers[i];
        // Not all at the same place of a page: the processor's cache holds few lines of one place.
        s->fibers[i].stack_top = stacks + (i + 1) * (stack + PAGE) - ((i * 448) & (PAGE - 64));
        t->local = t->local_top = s->locals + i * local * 2;
        t->local_end = t->local + local;
        t->local_state = t->local_end;
        t->stack_end = stacks + i * (stack + PAGE) + PAGE + (k->stack_spare ? k->stack_spare : 16384);
        place(t, s, i);
    }
    return s;
}

static void free_slot(Slot *s) {
    if (!s) return;
    Runtime *rt = s->rt;
    u32 n = rt->fibers ? rt->threads : 1;
    order_end_slot(s);
    for (u32 i = 0; s->fibers && i < n; i++) free_async(&s->fibers[i]);
    if (s->locals) munmap(s->locals, ((rt->kernel->local_bytes + 63ull) & ~63ull) * 2 * n);
    if (s->block.shared) munmap(s->block.shared, ((u64)s->block.shared_bytes + PAGE) & ~(PAGE - 1ull));
    free(s->threads);
    free(s->fibers);
    free(s);
}

// Where the schedule begins to look in a block.
static Thread *first_thread(Slot *s) {
    return s->threads + (s->rt->fibers && s->rt->launch->schedule == SCHEDULE_REVERSE ? s->rt->threads - 1 : 0);
}

static void run_blocks(Runtime *rt) {
    u32 active = 0;
    for (u32 i = 0; i < rt->n_slots; i++, active++) start_block(rt->slots[i]);
    rt->running = first_thread(rt->slots[0]);
    while (active && !rt->stopped) {
        if (rt->fibers) {
            Thread *next = choose(rt);
            if (!next) {
                report_deadlock(rt);
                rt->stopped = rt->launch->stopped_by = 8024;
                return;
            }
            rt->running = next;
        } else {
            rt->running = &rt->slots[0]->threads[0];
            prepare_fiber(rt->running, plain_main);
        }
        emu_switch(&rt->main_sp, fiber_of(rt->running)->sp);
        if (rt->stopped) return;
        Slot *s = slot_of(rt->running);  // whoever came back here was the last of its block, or the plain fiber
        if (rt->fibers ? s->block.live : plain_next_ < rt->threads) continue;
        s->active = 0;
        active--;
        Slot **cluster = rt->slots + s->index / rt->cluster * rt->cluster;  // its blocks start and make room together
        u32 busy = 0;
        for (u32 k = 0; k < rt->cluster; k++) busy |= cluster[k]->active;
        if (busy || rt->next_block >= rt->n_blocks) continue;
        for (u32 k = 0; k < rt->cluster; k++, active++) start_block(cluster[k]);
        rt->running = first_thread(cluster[0]);
    }
}

static int is_valid(const Kernel *k, const Launch *l) {
    if (k->abi != EMU_ABI || l->abi != EMU_ABI || l->shared_bytes < k->static_shared) return 0;
    u64 threads = (u64)l->block[0] * l->block[1] * l->block[2];
    for (u32 i = 0; i < 3; i++)
        if (!l->grid[i] || !l->block[i] || l->block[i] > 1024 || (l->cluster[i] && l->grid[i] % l->cluster[i])) return 0;
    return threads <= 1024 && l->schedule <= SCHEDULE_RANDOM && l->shared_bytes <= 1u << 20;
}

int emu_run(const Kernel *k, Launch *l) {
    if (!is_valid(k, l)) return END_BAD_LAUNCH;
    Runtime *rt = aligned_alloc(_Alignof(Runtime), sizeof *rt);
    if (!rt) return END_BAD_LAUNCH;
    *rt = (Runtime){.launch = l, .kernel = k, .fibers = k->flags & (KERNEL_FIBERS | KERNEL_RESIDENT)};
    rt->threads = l->block[0] * l->block[1] * l->block[2];
    rt->warps = (rt->threads + 31) / 32;
    rt->n_blocks = (u64)l->grid[0] * l->grid[1] * l->grid[2];
    rt->random = (l->seed + 1) * 0x9E3779B97F4A7C15ull | 1;
    u64 resident = l->resident ? l->resident : k->flags & KERNEL_RESIDENT ? MOST_GUARDED_FIBERS / rt->threads : 1;
    rt->cluster = l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (!rt->cluster || !rt->fibers) rt->cluster = 1;
    resident = (resident + rt->cluster - 1) / rt->cluster * rt->cluster;
    if (resident > rt->n_blocks) resident = rt->n_blocks;
    rt->n_slots = rt->fibers ? resident : 1;
    l->runtime = rt;
    l->stopped_by = 0;
    the_runtime(rt);
    if (l->schedule == SCHEDULE_RANDOM) random_order(rt, rt->n_blocks / rt->cluster, &rt->step, &rt->offset);
    u64 stack = ((k->stack_bytes ? k->stack_bytes : 65536) + 2 * PAGE - 1ull) & ~(PAGE - 1ull);
    u32 per_slot = rt->fibers ? rt->threads : 1;
    u8 *stacks = map_stacks(stack, (u64)per_slot * rt->n_slots);
    rt->slots = calloc(rt->n_slots, sizeof *rt->slots);
    int good = stacks && rt->slots;
    for (u32 i = 0; good && i < rt->n_slots; i++)
        good = (rt->slots[i] = make_slot(rt, i, stacks + i * per_slot * (stack + PAGE), stack)) != NULL;
    if (good) {
        order_start_launch(rt);
        run_blocks(rt);
    }
    for (u32 i = 0; rt->slots && i < rt->n_slots; i++) free_slot(rt->slots[i]);
    if (stacks_.count > MOST_KEPT_FIBERS) drop_stacks();
    hopper_end(rt);
    order_end_launch(rt);
    int end = !good ? END_BAD_LAUNCH : rt->stopped ? END_STOPPED : END_DONE;
    free(rt->slots);
    free(rt);
    l->runtime = NULL;
    return end;
}

void emu_rest(void) { drop_stacks(); }  // kernels that do not run keep none
