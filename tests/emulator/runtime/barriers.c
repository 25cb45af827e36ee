// Barriers of a block.
KERNEL(reverse, .flags = KERNEL_FIBERS, .static_shared = 4096) {  // in, out
    ST_SHARED(u32, 4 * TID, LD_GLOBAL(u32, GLOBAL(0, BID * NTID + TID), HERE), HERE);
    bar_sync(t, 0, 0, HERE);
    ST_GLOBAL(u32, GLOBAL(1, BID * NTID + TID), LD_SHARED(u32, 4 * (NTID - 1 - TID), HERE), HERE);
}

KERNEL(reductions, .flags = KERNEL_FIBERS) {  // in, out: 3 words a thread
    u8 p = LD_GLOBAL(u32, GLOBAL(0, TID), HERE) & 1;
    ST_GLOBAL(u32, GLOBAL(1, 3 * TID), bar_red_popc(t, 0, 0, p, HERE), HERE);
    ST_GLOBAL(u32, GLOBAL(1, 3 * TID + 1), bar_red_and(t, 0, 0, p, HERE), HERE);
    ST_GLOBAL(u32, GLOBAL(1, 3 * TID + 2), bar_red_or(t, 0, 0, p, HERE), HERE);
}

// Warp 0 produces, warp 1 consumes, warp 2 does neither.
KERNEL(producer, .flags = KERNEL_FIBERS, .static_shared = 128) {  // out, rounds, waits for the consumer?
    for (u32 i = 0; i < (u32)ARG(1); i++) {
        if (TID < 32) {
            if (i && ARG(2)) bar_sync(t, 2, 64, HERE);
            ST_SHARED(u32, 4 * t->lane, 100 * i + t->lane, HERE);  // produce
            bar_arrive(t, 1, 64, HERE);
        } else if (TID < 64) {
            bar_sync(t, 1, 64, HERE);
            ST_GLOBAL(u32, GLOBAL(0, 32 * i + t->lane), LD_SHARED(u32, 4 * (31 - t->lane), HERE), HERE);  // consume
            if (i + 1 < (u32)ARG(1)) bar_arrive(t, 2, 64, HERE);
        }
    }
}

KERNEL(early, .flags = KERNEL_FIBERS) {  // out, n: threads from n on are gone
    if (TID >= (u32)ARG(1)) return;
    bar_sync(t, 0, 0, HERE);  // wait
    ST_GLOBAL(u32, GLOBAL(0, TID), 1, HERE);
}

KERNEL(two_places, .flags = KERNEL_FIBERS) {  // out, mask of the lanes or warps that take the first
    if (TID < (u32)ARG(1)) bar_sync(t, 0, 0, HERE);  // first
    else bar_sync(t, 0, 0, HERE);                    // second
    ST_GLOBAL(u32, GLOBAL(0, TID), 1, HERE);
}

KERNEL(unaligned, .flags = KERNEL_FIBERS) {  // out, mask: allowed for barrier.sync
    if (TID < (u32)ARG(1)) barrier_sync(t, 0, 0, HERE);
    else barrier_sync(t, 0, 0, HERE);
    ST_GLOBAL(u32, GLOBAL(0, TID), 1, HERE);
}

KERNEL(counts, .flags = KERNEL_FIBERS) {  // out, count of warp 0, count of the others
    bar_sync(t, 3, TID < 32 ? ARG(1) : ARG(2), HERE);  // wait
    ST_GLOBAL(u32, GLOBAL(0, TID), 1, HERE);
}

KERNEL(some_wait, .flags = KERNEL_FIBERS) {  // out: the others wait at another barrier
    if (TID < 32) bar_sync(t, 0, 0, HERE);  // zero
    else bar_sync(t, 1, 0, HERE);           // one
}
