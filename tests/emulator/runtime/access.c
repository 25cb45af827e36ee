// One access each, good and bad.
KERNEL(widths) {  // in, out: copies 32 bytes a thread by every width, through every space
    u64 from = ARG(0) + 32 * TID, to = ARG(1) + 32 * TID;
    ST_GLOBAL(u8, to, LD_GLOBAL(u8, from, HERE), HERE);
    ST_GLOBAL(u8, to + 1, LD_GLOBAL(u8, from + 1, HERE), HERE);
    ST_GLOBAL(u16, to + 2, LD_GLOBAL(u16, from + 2, HERE), HERE);
    ST_GLOBAL(u32, to + 4, LD_GLOBAL(u32, from + 4, HERE), HERE);
    ST_GLOBAL(u64, to + 8, LD_GLOBAL(u64, from + 8, HERE), HERE);
    u8 v[16];
    LD_GLOBAL_N(16, from + 16, HERE, v);
    ST_GLOBAL_N(16, to + 16, HERE, v);
}

KERNEL(spaces, .static_shared = 1024, .local_bytes = 64, .shared_granule = 1) {  // in, out: through shared and local, by address
    u64 local = (u64)local_push(t, 40, 8);
    u8 v[8];
    u64 shared = (u64)t->shared + 8 * TID;
    LD_GENERIC_N(8, ARG(0) + 8 * TID, HERE, v);
    ST_GENERIC_N(8, shared, HERE, v);
    ST_GENERIC(u64, local + 8, LD_SHARED(u64, 8 * TID, HERE), HERE);
    u64 inner = (u64)local_push(t, 8, 8);
    ST_LOCAL(u32, inner, LD_LOCAL(u32, local + 8, HERE), HERE);
    ST_LOCAL(u32, inner + 4, LD_GENERIC(u32, local + 12, HERE), HERE);
    ST_GLOBAL(u64, ARG(1) + 8 * TID, LD_LOCAL(u64, inner, HERE), HERE);
    local_pop(t, (u8 *)inner);
    local_pop(t, (u8 *)local);
}

KERNEL(outside_global) {  // in, out, offset in bytes
    ST_GLOBAL(u32, GLOBAL(1, TID), LD_GLOBAL(u32, GLOBAL(0, TID) + ARG(2), HERE), HERE);  // load
    ST_GLOBAL(u32, GLOBAL(1, TID) + (1ull << 40), 7, HERE);                               // store
}

KERNEL(misaligned, .static_shared = 64) {  // in, out
    ST_GLOBAL(u32, GLOBAL(1, TID), LD_GLOBAL(u32, GLOBAL(0, TID) + 2, HERE), HERE);  // global
    ST_SHARED(u64, 4, 1, HERE);                                                      // shared
}

KERNEL(outside_shared, .static_shared = 64) {  // out: 16 words of shared memory
    ST_SHARED(u32, 4 * TID, 5, HERE);                                      // store
    ST_GLOBAL(u32, GLOBAL(0, TID), LD_SHARED(u32, 4 * TID, HERE), HERE);   // load
}

KERNEL(outside_local, .local_bytes = 64) {  // out
    u64 local = (u64)local_push(t, 16, 4);
    for (u32 i = 0; i < 4; i++) ST_LOCAL(u32, local + 4 * i, 5, HERE);
    ST_LOCAL(u32, local + 16, 6, HERE);                                    // store
    ST_GLOBAL(u32, GLOBAL(0, TID), LD_LOCAL(u32, local - 4, HERE), HERE);  // load
}

KERNEL(unwritten, .static_shared = 256, .local_bytes = 64) {  // in (partly initialised), out, which
    u64 local = (u64)local_push(t, 16, 4);
    if (TID < 16) ST_SHARED(u32, 4 * TID, TID, HERE);
    if (ARG(2) == 0) ST_GLOBAL(u32, GLOBAL(1, TID), LD_SHARED(u32, 4 * TID, HERE), HERE);          // shared
    if (ARG(2) == 1) ST_GLOBAL(u32, GLOBAL(1, TID), LD_LOCAL(u32, local + 4, HERE), HERE);         // local
    if (ARG(2) == 2) ST_GLOBAL(u32, GLOBAL(1, TID), LD_GLOBAL(u32, GLOBAL(0, TID), HERE), HERE);   // global
    if (ARG(2) == 3) *(u32 *)AT_GLOBAL(4, GLOBAL(0, TID), HERE, ORD_RELAXED) += 1;                 // atomic
}

static u32 descend(Thread *t, u32 depth) {
    u64 local = (u64)local_push(t, 16, 16);
    ST_LOCAL(u32, local, depth, HERE);
    u32 below = depth ? descend(t, depth - 1) : 0;
    u32 sum = below + LD_LOCAL(u32, local, HERE);
    local_pop(t, (u8 *)local);
    return sum;
}
KERNEL(calls, .local_bytes = 128) {  // out, depth: one frame of 16 bytes a level
    ST_GLOBAL(u32, GLOBAL(0, TID), descend(t, ARG(1)), HERE);
}

KERNEL(touches) {  // in, out: reads the even words, writes the odd ones
    if (TID % 2) ST_GLOBAL(u32, GLOBAL(1, TID), 1, HERE);
    else LD_GLOBAL(u32, GLOBAL(0, TID), HERE);
}

KERNEL(copies, .flags = KERNEL_FIBERS, .static_shared = 1024) {  // in, out, wait?, groups: cp.async of 16 bytes, twice
    u32 at = 32 * TID;
    cp_async(t, at, ARG(0) + at, 16, 16, HERE);
    cp_async_commit(t);
    cp_async(t, at + 16, ARG(0) + at + 16, 16, 8, HERE);  // 8 bytes of zeros
    cp_async_commit(t);
    if (ARG(2)) cp_async_wait(t, ARG(3));
    for (u32 i = 0; i < 32; i += 4) ST_GLOBAL(u32, ARG(1) + at + i, LD_SHARED(u32, at + i, HERE), HERE);  // use
}
