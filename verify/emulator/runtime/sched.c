// Fibers and who runs next. A thread runs until it waits, yields or ends; then the schedule chooses among the runnable lanes
// of the warp, then the warps of the block, then the resident blocks. Switching goes from fiber to fiber directly.
#include "engine.h"

#if defined(__x86_64__)
__asm__(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
        " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n.size emu_switch,.-emu_switch\n");
void prepare_fiber(Thread *t, void (*main)(void)) {
    u64 *sp = (u64 *)fiber_of(t)->stack_top;
    *--sp = 0;               // keeps the stack aligned as after a call
    *--sp = (u64)main;       // emu_switch returns there
    sp -= 6;                 // rbp … r15: any value
    fiber_of(t)->sp = sp;
}
#elif defined(__aarch64__)
// Written from the procedure call standard; not run on hardware yet.
__asm__(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,%function\nemu_switch:\n"
        " sub sp,sp,#160\n stp x19,x20,[sp,#0]\n stp x21,x22,[sp,#16]\n stp x23,x24,[sp,#32]\n stp x25,x26,[sp,#48]\n"
        " stp x27,x28,[sp,#64]\n stp x29,x30,[sp,#80]\n stp d8,d9,[sp,#96]\n stp d10,d11,[sp,#112]\n"
        " stp d12,d13,[sp,#128]\n stp d14,d15,[sp,#144]\n mov x9,sp\n str x9,[x0]\n mov sp,x1\n"
        " ldp x19,x20,[sp,#0]\n ldp x21,x22,[sp,#16]\n ldp x23,x24,[sp,#32]\n ldp x25,x26,[sp,#48]\n"
        " ldp x27,x28,[sp,#64]\n ldp x29,x30,[sp,#80]\n ldp d8,d9,[sp,#96]\n ldp d10,d11,[sp,#112]\n"
        " ldp d12,d13,[sp,#128]\n ldp d14,d15,[sp,#144]\n add sp,sp,#160\n ret\n.size emu_switch,.-emu_switch\n");
void prepare_fiber(Thread *t, void (*main)(void)) {
    u64 *sp = (u64 *)fiber_of(t)->stack_top - 20;
    sp[10] = 0;              // x29
    sp[11] = (u64)main;      // x30
    fiber_of(t)->sp = sp;
}
#endif

INL u32 pick_bit(Runtime *rt, u32 mask) {
    switch (rt->launch->schedule) {
    case SCHEDULE_FORWARD: return __builtin_ctz(mask);
    case SCHEDULE_REVERSE: return 31 - __builtin_clz(mask);
    }
    for (u32 k = next_random(rt) % __builtin_popcount(mask); k; k--) mask &= mask - 1;
    return __builtin_ctz(mask);
}

void make_runnable(Warp *w, u32 lanes) {
    w->runnable |= lanes;
    if (w->runnable) w->slot->ready |= 1u << w->index;
}

INL void not_runnable(Warp *w, u32 lanes) {
    w->runnable &= ~lanes;
    if (!w->runnable) w->slot->ready &= ~(1u << w->index);
}

// Nobody can go on without help: convergence at activemask, else those who yielded. 0: deadlock.
static int wake(Runtime *rt) {
    int woken = 0;
    for (u32 i = 0; i < rt->n_slots; i++)
        for (u32 w = 0; w < rt->warps; w++) woken |= release_activemask(&rt->slots[i]->warps[w]);
    if (woken) return 1;
    for (u32 i = 0; i < rt->n_slots; i++)
        for (u32 j = 0; j < rt->warps; j++) {
            Warp *w = &rt->slots[i]->warps[j];
            if (!w->yielded) continue;
            make_runnable(w, w->yielded);
            w->yielded = 0;
            woken = 1;
        }
    return woken;
}

static Slot *ready_slot(Runtime *rt, u32 from) {
    u32 n = rt->n_slots, reverse = rt->launch->schedule == SCHEDULE_REVERSE;
    for (u32 i = 0; i < n; i++) {
        u32 k = reverse ? (from + n - i) % n : (from + i) % n;
        if (rt->slots[k]->ready) return rt->slots[k];
    }
    return NULL;
}

// The next thread by the schedule; NULL: deadlock (or nothing is left).
Thread *choose(Runtime *rt) {
    Thread *last = rt->running;
    Slot *slot = last ? slot_of(last) : rt->slots[0];
    Warp *w = last ? last->warp : &slot->warps[0];
    u32 random = rt->launch->schedule == SCHEDULE_RANDOM;
    for (;;) {
        if (w->at_activemask && !(w->runnable | w->yielded)) release_activemask(w);
        if (random || !w->runnable) {
            u32 from = random && rt->n_slots > 1 ? next_random(rt) % rt->n_slots : slot->index;
            if (from != slot->index || !slot->ready) {
                Slot *other = ready_slot(rt, from);
                if (!other) {
                    if (!wake(rt)) return NULL;
                    continue;
                }
                slot = other;
            }
            w = &slot->warps[pick_bit(rt, slot->ready)];
        }
        return w->threads + pick_bit(rt, w->runnable);
    }
}

INL void switch_to(Thread *from, Thread *to) {
    if (to == from) return;
    runtime_of(from)->running = to;
    emu_switch(&fiber_of(from)->sp, fiber_of(to)->sp);
}

static void run_next(Thread *t) {
    Runtime *rt = runtime_of(t);
    Warp *w = t->warp;
    if (LIKELY(w->runnable && rt->launch->schedule != SCHEDULE_RANDOM)) {
        switch_to(t, w->threads + pick_bit(rt, w->runnable));
        return;
    }
    Thread *next = choose(rt);
    if (!next) {
        report_deadlock(rt);
        stop_launch(t, 8024);
    }
    switch_to(t, next);
}

void block_here(Thread *t, u32 waits, u32 site) {
    if (UNLIKELY(!runtime_of(t)->fibers)) {
        finding(t, 8024, site, 0, 0, "the kernel waits but is not marked as one that can");
        stop_launch(t, 8024);
    }
    fiber_of(t)->waits = waits;
    fiber_of(t)->site = site;
    not_runnable(t->warp, t->lane_bit);
    run_next(t);
    fiber_of(t)->waits = WAIT_NONE;
}

void give_way(Thread *t) { run_next(t); }

void spin_yield(Thread *t, u32 site) {
    if (UNLIKELY(--t->launch->budget < 0)) out_of_budget_(t, site);
    if (!runtime_of(t)->fibers) return;
    t->warp->yielded |= t->lane_bit;
    not_runnable(t->warp, t->lane_bit);
    run_next(t);
}

// What a kernel does wrong with ordered loads shows where others run at the right moment. Forward, a thread goes on with what
// it loaded, unless it is in a loop; reverse, all others run between the load and the use of its value; random, either.
u32 before_load(Thread *t, u32 site) {
    Fiber *f = fiber_of(t);
    u32 schedule = t->launch->schedule, again = f->last_load > site, chance = 0;
    f->last_load = site + 1;
    if (schedule == SCHEDULE_REVERSE) return 1;
    if (schedule == SCHEDULE_RANDOM) chance = next_random(runtime_of(t)) & 3;
    if (again || chance == 1) spin_yield(t, site);
    return chance == 2;
}

void nanosleep(Thread *t) { spin_yield(t, NO_SITE); }

void stop_launch(Thread *t, u32 code) {
    Runtime *rt = runtime_of(t);
    rt->stopped = t->launch->stopped_by = code;
    emu_switch(&fiber_of(t)->sp, rt->main_sp);
    __builtin_unreachable();
}

void out_of_budget_(Thread *t, u32 site) {
    finding(t, 8041, site, 0, 0, "the instruction budget is used up");
    stop_launch(t, 8041);
}

// The thread is over. With fibers its stack is dead from here on; the main context starts the next block.
void leave_thread(Thread *t) {
    Runtime *rt = runtime_of(t);
    Slot *s = slot_of(t);
    Warp *w = t->warp;
    hopper_thread_exit(t);
    if (rt->fibers) {
        w->live &= ~t->lane_bit;
        not_runnable(w, t->lane_bit);
        s->block.live--;
        if (w->waiting) lane_left(w);
        thread_left_barriers(s);
        if (s->block.live) run_next(t);
    }
    emu_switch(&fiber_of(t)->sp, rt->main_sp);
    __builtin_unreachable();
}

void thread_exit(Thread *t) { leave_thread(t); }
