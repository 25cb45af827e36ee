// Synchronisation between blocks through global memory. Argument `n`: 0 right, else what is left out.
static u32 add(Thread *t, u64 at, u32 v, u32 site) {
    u32 *p = (u32 *)AT_GLOBAL(4, at, site, ORD_RELAXED), old = *p;
    *p = old + v;
    return old;
}

// The last block to finish sums what all wrote. n: 1 no fence, 2 no barrier before the fence, 3 the first block sums.
KERNEL(last_block, .flags = KERNEL_FIBERS, .static_shared = 4) {  // parts, counter, out, n
    u32 blocks = t->launch->grid[0], n = ARG(3);
    ST_GLOBAL(u32, GLOBAL(0, BID * NTID + TID), BID + TID, HERE);  // part
    if (n != 2) bar_sync(t, 0, 0, HERE);
    if (TID == 0) {
        if (n != 1) fence(t, SCOPE_GPU);
        u32 before = add(t, ARG(1), 1, HERE);
        ST_SHARED(u32, 0, before == (n == 3 ? 0 : blocks - 1), HERE);
    }
    bar_sync(t, 0, 0, HERE);
    if (!LD_SHARED(u32, 0, HERE)) return;
    u32 sum = 0;
    for (u32 b = 0; b < blocks; b++) sum += LD_GLOBAL(u32, GLOBAL(0, b * NTID + TID), HERE);  // sum
    ST_GLOBAL(u32, GLOBAL(2, TID), sum, HERE);
}

// The same with the fence by every thread, before the barrier.
KERNEL(last_block_each, .flags = KERNEL_FIBERS, .static_shared = 4) {  // parts, counter, out
    u32 blocks = t->launch->grid[0];
    ST_GLOBAL(u32, GLOBAL(0, BID * NTID + TID), BID + TID, HERE);
    fence(t, SCOPE_GPU);
    bar_sync(t, 0, 0, HERE);
    if (TID == 0) ST_SHARED(u32, 0, add(t, ARG(1), 1, HERE) == blocks - 1, HERE);
    bar_sync(t, 0, 0, HERE);
    if (!LD_SHARED(u32, 0, HERE)) return;
    u32 sum = 0;
    for (u32 b = 0; b < blocks; b++) sum += LD_GLOBAL(u32, GLOBAL(0, b * NTID + TID), HERE);
    ST_GLOBAL(u32, GLOBAL(2, TID), sum, HERE);
}

// A barrier of the grid, three times. n: 1 no fence, 2 no barrier of the block after it, 3 no barrier before it.
static void grid_barrier(Thread *t, u64 at, u32 round, u32 n) {
    if (n != 3) bar_sync(t, 0, 0, HERE);
    if (TID == 0) {
        if (n != 1) fence(t, SCOPE_GPU);
        add(t, at, 1, HERE);
        while (LDO_GLOBAL(u32, at, HERE, ORD_VOLATILE) < (round + 1) * t->launch->grid[0]) back_edge(t, HERE);
        if (n != 1) fence(t, SCOPE_GPU);
    }
    if (n != 2) bar_sync(t, 0, 0, HERE);
}
KERNEL(grid, .flags = KERNEL_FIBERS | KERNEL_RESIDENT) {  // a, counter, b, n: the buffers rotate by one block a round
    u32 blocks = t->launch->grid[0], i = BID * NTID + TID, from = (BID + 1) % blocks * NTID + TID;
    ST_GLOBAL(u32, GLOBAL(0, i), i, HERE);  // a
    grid_barrier(t, ARG(1), 0, ARG(3));
    ST_GLOBAL(u32, GLOBAL(2, i), LD_GLOBAL(u32, GLOBAL(0, from), HERE), HERE);  // b
    grid_barrier(t, ARG(1), 1, ARG(3));
    ST_GLOBAL(u32, GLOBAL(0, i), LD_GLOBAL(u32, GLOBAL(2, from), HERE), HERE);  // a again
}

// A chain of flags: block b waits for b - 1. The value is in memory of its own. n: 1 no fence.
KERNEL(look_back, .flags = KERNEL_FIBERS | KERNEL_RESIDENT, .static_shared = 4) {  // values, flags, out, n
    if (TID == 0) {
        u32 sum = 0;
        if (BID) {
            while (!LDO_GLOBAL(u32, GLOBAL(1, BID - 1), HERE, ORD_VOLATILE)) back_edge(t, HERE);
            fence(t, SCOPE_GPU);
            sum = LD_GLOBAL(u32, GLOBAL(0, BID - 1), HERE);  // take
        }
        ST_GLOBAL(u32, GLOBAL(0, BID), sum + BID, HERE);  // give
        if (ARG(3) != 1) fence(t, SCOPE_GPU);
        STO_GLOBAL(u32, GLOBAL(1, BID), 1, HERE, ORD_VOLATILE);
        ST_SHARED(u32, 0, sum, HERE);
    }
    bar_sync(t, 0, 0, HERE);
    ST_GLOBAL(u32, GLOBAL(2, BID * NTID + TID), LD_SHARED(u32, 0, HERE) + TID, HERE);
    if (BID > 4 && TID == 1)  // what a block far back wrote is known through the chain
        ST_GLOBAL(u32, GLOBAL(2, BID * NTID + 1), LD_GLOBAL(u32, GLOBAL(0, BID - 5), HERE), HERE);  // far
}

// The same by st.release and ld.acquire. n: 1 relaxed instead.
KERNEL(release_acquire, .flags = KERNEL_FIBERS | KERNEL_RESIDENT) {  // values, flags, out, n
    if (TID) return;
    u32 sum = 0;
    if (BID) {
        while (!LDO_GLOBAL(u32, GLOBAL(1, BID - 1), HERE, ORD_ACQUIRE)) back_edge(t, HERE);
        sum = LD_GLOBAL(u32, GLOBAL(0, BID - 1), HERE);  // take
    }
    ST_GLOBAL(u32, GLOBAL(0, BID), sum + BID, HERE);  // give
    STO_GLOBAL(u32, GLOBAL(1, BID), 1, HERE, ARG(3) ? ORD_RELAXED : ORD_RELEASE);
    ST_GLOBAL(u32, GLOBAL(2, BID), sum, HERE);
}

// Polls a word that nobody changes by an atomic that could.
KERNEL(poll, .flags = KERNEL_FIBERS | KERNEL_RESIDENT) {  // word
    ST_GLOBAL(u32, GLOBAL(1, BID), BID, HERE);
    fence(t, SCOPE_GPU);
    for (;;) {
        if (*(u32 *)AT_GLOBAL(4, ARG(0), HERE, ORD_RELAXED)) return;
        spin_yield(t, HERE);  // poll
    }
}

// Every thread takes a lock and adds. n: 1 no fence before unlocking, 2 no lock.
KERNEL(lock, .flags = KERNEL_FIBERS | KERNEL_RESIDENT) {  // lock, sum, n
    while (ARG(2) != 2) {
        u32 *p = (u32 *)AT_GLOBAL(4, ARG(0), HERE, ORD_RELAXED), old = *p;
        if (!old) *p = 1;
        if (!old) break;
        spin_yield(t, HERE);
        back_edge(t, HERE);
    }
    fence(t, SCOPE_GPU);
    u32 sum = LD_GLOBAL(u32, ARG(1), HERE);  // add
    nanosleep(t);                            // others try meanwhile
    ST_GLOBAL(u32, ARG(1), sum + 1, HERE);   // add
    if (ARG(2) == 2) return;
    if (ARG(2) != 1) fence(t, SCOPE_GPU);
    *(u32 *)AT_GLOBAL(4, ARG(0), HERE, ORD_RELAXED) = 0;
}

KERNEL(same_cell) {  // x, n: 0 every block stores its number, 1 all the same, 2 atomic adds
    if (TID) return;
    if (ARG(1) == 2) add(t, ARG(0), 1, HERE);
    else ST_GLOBAL(u32, ARG(0), ARG(1) ? 5 : BID, HERE);  // store
}
