// Collectives. Every kernel of one warp writes word `lane` of its output.
KERNEL(shuffle, .flags = KERNEL_FIBERS) {  // in, out, predicate, mode, b, c
    u8 p = 9;
    u32 v = shfl_sync(t, ARG(3), LD_GLOBAL(u32, GLOBAL(0, TID), HERE), ARG(4), ARG(5), ALL, HERE, &p);
    ST_GLOBAL(u32, GLOBAL(1, TID), v, HERE);
    ST_GLOBAL(u32, GLOBAL(2, TID), p, HERE);
}

KERNEL(reduce_to, .flags = KERNEL_FIBERS) {  // in, out, op, mask
    u32 mask = ARG(3), v = LD_GLOBAL(u32, GLOBAL(0, TID), HERE);
    if (mask >> t->lane & 1) ST_GLOBAL(u32, GLOBAL(1, TID), redux(t, ARG(2), v, mask, HERE), HERE);
}

KERNEL(votes, .flags = KERNEL_FIBERS) {  // in, out: 8 words a lane
    u32 v = LD_GLOBAL(u32, GLOBAL(0, TID), HERE), odd = v & 1;
    u8 p = 9;
    u32 r[8] = {vote_ballot(t, odd, ALL, HERE), vote_any(t, odd, ALL, HERE), vote_all(t, odd, ALL, HERE), vote_uni(t, odd, ALL, HERE),
                match_any32(t, v, ALL, HERE), match_all32(t, v, ALL, HERE, &p), p, elect(t, t->lane < 4 ? 0xf : 0xfffffff0, HERE, &p)};
    for (u32 i = 0; i < 8; i++) ST_GLOBAL(u32, GLOBAL(1, 8 * TID + i), r[i], HERE);
}

KERNEL(halves, .flags = KERNEL_FIBERS) {  // out: the halves of a warp shuffle by themselves, at one place or two
    u32 v, mask = t->lane < 16 ? 0xffff : 0xffff0000;
    if (t->lane < 16) v = shfl_sync(t, SHFL_DOWN, t->lane, 1, 31, mask, HERE, NULL);
    else v = shfl_sync(t, SHFL_DOWN, t->lane, 2, 31, mask, HERE, NULL);
    v += 100 * shfl_sync(t, SHFL_IDX, t->lane, t->lane & 16, 31, mask, HERE, NULL);
    ST_GLOBAL(u32, GLOBAL(0, TID), v, HERE);
}

KERNEL(converge, .flags = KERNEL_FIBERS) {  // out: three paths, then together
    u32 mask;
    if (t->lane % 3 == 0) mask = activemask(t, HERE);
    else if (t->lane % 3 == 1) mask = activemask(t, HERE);
    else {
        mask = vote_ballot(t, 1, 0x24924924, HERE);
        if (t->lane == 2) thread_exit(t);
    }
    ST_GLOBAL(u32, GLOBAL(0, TID), mask, HERE);
    ST_GLOBAL(u32, GLOBAL(0, 32 + TID), activemask(t, HERE), HERE);
}

KERNEL(after_exit, .flags = KERNEL_FIBERS) {  // out: half of the warp is gone; the full mask means the rest
    if (t->lane & 1) return;
    ST_GLOBAL(u32, GLOBAL(0, TID), vote_ballot(t, 1, ALL, HERE), HERE);
}

KERNEL(bad_mask, .flags = KERNEL_FIBERS) {  // out
    ST_GLOBAL(u32, GLOBAL(0, TID), vote_ballot(t, 1, 0xfffffffe, HERE), HERE);  // vote
}

KERNEL(mixed, .flags = KERNEL_FIBERS) {  // out
    if (t->lane < 16) vote_ballot(t, 1, ALL, HERE);  // vote
    else bar_warp_sync(t, ALL, HERE);                // syncwarp
}

KERNEL(duplicated, .flags = KERNEL_FIBERS) {  // out: one collective that the compiler copied into both branches
    u32 v;
    if (t->lane < 16) v = shfl_sync(t, SHFL_BFLY, t->lane, 16, 31, ALL, HERE, NULL);
    else v = shfl_sync(t, SHFL_BFLY, t->lane, 16, 31, ALL, HERE, NULL);
    ST_GLOBAL(u32, GLOBAL(0, TID), v, HERE);
}

KERNEL(missing_lane, .flags = KERNEL_FIBERS) {  // out
    if (t->lane == 0) {
        while (1) bar_sync(t, 1, 64, HERE);  // barrier
    } else bar_warp_sync(t, ALL, HERE);      // syncwarp
}
