// Races inside a block, and their clean twins. Argument `n` chooses.
KERNEL(neighbour, .flags = KERNEL_FIBERS, .static_shared = 4096) {  // out, n: 0 no barrier, 1 barrier, 2 warp barrier
    ST_SHARED(u32, 4 * TID, TID, HERE);  // write
    if (ARG(1) == 1) bar_sync(t, 0, 0, HERE);
    if (ARG(1) == 2) bar_warp_sync(t, ALL, HERE);
    ST_GLOBAL(u32, GLOBAL(0, TID), LD_SHARED(u32, 4 * ((TID + 1) % NTID), HERE), HERE);  // read
}

KERNEL(reuse, .flags = KERNEL_FIBERS, .static_shared = 4) {  // out, n: 1: a second barrier
    for (u32 i = 0; i < 3; i++) {
        if (TID == 32 * i) ST_SHARED(u32, 0, 10 * i, HERE);  // write
        bar_sync(t, 0, 0, HERE);
        ST_GLOBAL(u32, GLOBAL(0, 3 * TID + i), LD_SHARED(u32, 0, HERE), HERE);  // read
        if (ARG(1)) bar_sync(t, 0, 0, HERE);
    }
}

KERNEL(lanes, .flags = KERNEL_FIBERS, .static_shared = 256) {  // out, mask of the warp barrier
    ST_SHARED(u32, 4 * TID, TID, HERE);  // write
    if ((u32)ARG(1) >> t->lane & 1) bar_warp_sync(t, ARG(1), HERE);
    u32 from = t->lane < 8 ? 7 - t->lane : t->lane;
    ST_GLOBAL(u32, GLOBAL(0, TID), LD_SHARED(u32, 4 * from, HERE), HERE);  // read
}

KERNEL(same_value, .flags = KERNEL_FIBERS, .static_shared = 8) {  // out, n: 0 the same value, 1 different ones
    ST_SHARED(u32, 0, ARG(1) ? TID : 7, HERE);  // write
    bar_sync(t, 0, 0, HERE);
    ST_GLOBAL(u32, GLOBAL(0, TID), LD_SHARED(u32, 0, HERE), HERE);
}

KERNEL(bytes, .flags = KERNEL_FIBERS, .static_shared = 64, .shared_granule = 1, .global_granule = 1) {  // out
    ST_SHARED(u8, TID, TID, HERE);
    ST_GLOBAL(u8, ARG(0) + TID, LD_SHARED(u8, TID, HERE), HERE);
}

KERNEL(counter, .flags = KERNEL_FIBERS, .static_shared = 4) {  // out, n: 0 atomic after a barrier, 1 no barrier, 2 not atomic
    if (TID == 0) ST_SHARED(u32, 0, 0, HERE);  // zero
    if (ARG(1) != 1) bar_sync(t, 0, 0, HERE);
    if (ARG(1) != 2) *(u32 *)AT_SHARED(4, 0, HERE, ORD_RELAXED) += 1;           // add
    else ST_SHARED(u32, 0, LD_SHARED(u32, 0, HERE) + 1, HERE);                  // load and store
    bar_sync(t, 0, 0, HERE);
    ST_GLOBAL(u32, GLOBAL(0, TID), LD_SHARED(u32, 0, HERE), HERE);
}

KERNEL(volatiles, .flags = KERNEL_FIBERS, .static_shared = 8) {  // out, n: 0 flag with fences, 1 without, 2 data volatile too
    if (TID == 0) {
        STO_SHARED(u32, 4, 0, HERE, ORD_VOLATILE);
        STO_SHARED(u32, 0, 0, HERE, ORD_VOLATILE);
    }
    bar_sync(t, 0, 0, HERE);
    if (TID == 32) {
        if (ARG(1) == 2) STO_SHARED(u32, 0, 77, HERE, ORD_VOLATILE);
        else ST_SHARED(u32, 0, 77, HERE);  // write
        if (ARG(1) != 1) fence(t, SCOPE_CTA);
        STO_SHARED(u32, 4, 1, HERE, ORD_VOLATILE);
    } else if (TID == 0) {
        while (!LDO_SHARED(u32, 4, HERE, ORD_VOLATILE)) back_edge(t, HERE);
        fence(t, SCOPE_CTA);
        u32 v = ARG(1) == 2 ? LDO_SHARED(u32, 0, HERE, ORD_VOLATILE) : LD_SHARED(u32, 0, HERE);  // read
        ST_GLOBAL(u32, GLOBAL(0, 0), v, HERE);
    }
}

KERNEL(in_place) {  // x, n: the neighbour's element is read and one's own written, without a barrier
    u32 i = BID * NTID + TID;
    if (i + 1 < (u32)ARG(1)) ST_GLOBAL(u32, GLOBAL(0, i), LD_GLOBAL(u32, GLOBAL(0, i + 1), HERE), HERE);  // shift
}

KERNEL(through_global, .flags = KERNEL_FIBERS) {  // x, out, n: 1: a barrier between
    u32 i = BID * NTID + TID;
    ST_GLOBAL(u32, GLOBAL(0, i), i, HERE);  // write
    if (ARG(2)) bar_sync(t, 0, 0, HERE);
    ST_GLOBAL(u32, GLOBAL(1, i), LD_GLOBAL(u32, GLOBAL(0, BID * NTID + NTID - 1 - TID), HERE), HERE);  // read
}

KERNEL(three_readers, .flags = KERNEL_FIBERS, .static_shared = 4) {  // out, n: 0 warp 3 does not wait for the readers; 1 it does
    if (TID == 0) ST_SHARED(u32, 0, 1, HERE);
    bar_sync(t, 0, 0, HERE);
    if (TID < 96) {
        ST_GLOBAL(u32, GLOBAL(0, TID), LD_SHARED(u32, 0, HERE), HERE);  // read
        if (ARG(1)) bar_arrive(t, 1, 128, HERE);
    } else {
        if (ARG(1)) bar_sync(t, 1, 128, HERE);
        if (TID == 96) ST_SHARED(u32, 0, 2, HERE);  // write
    }
}
