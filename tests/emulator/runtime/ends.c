// How threads and launches end, and the odds and ends.
KERNEL(print, .local_bytes = 64) {  // format, a text, bytes of arguments that are there
    if (TID) return;
    u8 *args = local_push(t, ARG(2) ? ARG(2) : 48, 16);
    ST_LOCAL(u32, (u64)args, -5, HERE);
    double real = 2.5;
    u64 bits;
    memcpy(&bits, &real, 8);
    ST_LOCAL(u64, (u64)args + 8, bits, HERE);
    if (!ARG(2)) {
        ST_LOCAL(u64, (u64)args + 16, ARG(1), HERE);
        ST_LOCAL(u32, (u64)args + 24, 'x', HERE);
        ST_LOCAL(u32, (u64)args + 28, 255, HERE);
        ST_LOCAL(u64, (u64)args + 32, -1234567890123, HERE);
    }
    emu_printf(t, ARG(0), (u64)args, HERE);  // printf
}
KERNEL(asserts) {  // message, file, function
    if (TID == 3) assert_fail(t, ARG(0), ARG(1), 42, ARG(2), HERE);  // assertion
    *(u32 *)AT_GLOBAL(4, ARG(3), HERE, ORD_RELAXED) += 1;
}
KERNEL(traps, .flags = KERNEL_FIBERS) {
    bar_sync(t, 0, 0, HERE);
    if (TID == 3) trap_now(t, HERE);  // trap
    bar_sync(t, 0, 0, HERE);
}
static void deep(Thread *t, u32 n) {
    if (!n) thread_exit(t);
    deep(t, n - 1);
    ST_GLOBAL(u32, 0, 0, HERE);
}
KERNEL(exits) {  // out
    if (TID % 2) deep(t, 5);
    ST_GLOBAL(u32, GLOBAL(0, BID * NTID + TID), 1, HERE);
}
KERNEL(forever) {
    for (;;) back_edge(t, HERE);
}
KERNEL(waits_forever, .flags = KERNEL_FIBERS) {  // flag
    while (!LDO_GLOBAL(u32, ARG(0), HERE, ORD_VOLATILE));
}
KERNEL(order) {  // out, counter: in which order threads came
    u32 *p = (u32 *)AT_GLOBAL(4, ARG(1), HERE, ORD_RELAXED);
    ST_GLOBAL(u32, GLOBAL(0, BID * NTID + TID), (*p)++, HERE);
}
KERNEL(order_fibers, .flags = KERNEL_FIBERS) {  // the same
    u32 *p = (u32 *)AT_GLOBAL(4, ARG(1), HERE, ORD_RELAXED);
    ST_GLOBAL(u32, GLOBAL(0, BID * NTID + TID), (*p)++, HERE);
}
KERNEL(places) {  // out: 8 words a thread
    u32 me = t->linear, v[8] = {t->tid[0], t->tid[1], t->tid[2], t->block->ctaid[0], t->block->ctaid[1], t->block->ctaid[2], t->lane, warp_index(t)};
    u32 threads = t->block->threads;
    for (u32 i = 0; i < 8; i++) ST_GLOBAL(u32, GLOBAL(0, 8 * (t->block->linear * threads + me) + i), v[i], HERE);
    COUNT_BLOCK(2);
}
KERNEL(clocks) {  // out
    u64 a = clock_now(t), b = clock_now(t);
    ST_GLOBAL(u32, GLOBAL(0, TID), b > a, HERE);
}
KERNEL(polls, .flags = KERNEL_FIBERS) {  // out, flag: thread 0 waits for the last thread of its own warp, by sleeping
    if (TID == 0) {
        do nanosleep(t);
        while (!*(u32 *)AT_GLOBAL(4, ARG(1), HERE, ORD_RELAXED));
    } else if (TID == 31) *(u32 *)AT_GLOBAL(4, ARG(1), HERE, ORD_RELAXED) = 1;
    ST_GLOBAL(u32, GLOBAL(0, TID), 1, HERE);
}
