// The kernels whose speed is followed: saxpy, softmax, tiled matmul, histogram.
#include <math.h>

KERNEL(saxpy) {  // x, y, a, n
    u32 i = BID * NTID + TID;
    if (i >= (u32)ARG(3)) return;
    float x = as_float(LD_GLOBAL(u32, GLOBAL(0, i), HERE));
    float y = as_float(LD_GLOBAL(u32, GLOBAL(1, i), HERE));
    ST_GLOBAL(u32, GLOBAL(1, i), as_bits(as_float(ARG(2)) * x + y), HERE);
}

KERNEL(matmul, .flags = KERNEL_FIBERS, .static_shared = 2048) {  // a, b, c, n; tiles of 16
    u32 n = ARG(3), x = t->tid[0], y = t->tid[1], row = t->block->ctaid[1] * 16 + y, column = BID * 16 + x;
    float sum = 0;
    for (u32 k = 0; k < n; k += 16) {
        ST_SHARED(u32, 4 * (y * 16 + x), LD_GLOBAL(u32, GLOBAL(0, row * n + k + x), HERE), HERE);
        ST_SHARED(u32, 1024 + 4 * (y * 16 + x), LD_GLOBAL(u32, GLOBAL(1, (k + y) * n + column), HERE), HERE);
        bar_sync(t, 0, 0, HERE);
#pragma GCC unroll 16
        for (u32 j = 0; j < 16; j++)
            sum = fmaf(as_float(LD_SHARED(u32, 4 * (y * 16 + j), HERE)), as_float(LD_SHARED(u32, 1024 + 4 * (j * 16 + x), HERE)), sum);
        bar_sync(t, 0, 0, HERE);
        back_edge(t, HERE);
    }
    ST_GLOBAL(u32, GLOBAL(2, row * n + column), as_bits(sum), HERE);
}

static float across(Thread *t, float v, u32 largest) {  // over the warp, then over 4 warps through shared memory
    for (u32 d = 16; d; d >>= 1) {
        float o = as_float(shfl_sync(t, SHFL_BFLY, as_bits(v), d, 31, ALL, HERE, NULL));
        v = largest ? fmaxf(v, o) : v + o;
    }
    if (t->lane == 0) ST_SHARED(u32, TID / 8, as_bits(v), HERE);
    bar_sync(t, 0, 0, HERE);
    v = as_float(LD_SHARED(u32, 0, HERE));
    for (u32 w = 1; w < 4; w++) {
        float o = as_float(LD_SHARED(u32, 4 * w, HERE));
        v = largest ? fmaxf(v, o) : v + o;
    }
    bar_sync(t, 0, 0, HERE);
    return v;
}
KERNEL(softmax, .flags = KERNEL_FIBERS, .static_shared = 16) {  // in, out, columns; a block of 128 for a row
    u32 n = ARG(2);
    float most = -INFINITY, sum = 0;
    for (u32 i = TID; i < n; i += 128) most = fmaxf(most, as_float(LD_GLOBAL(u32, GLOBAL(0, BID * n + i), HERE)));
    most = across(t, most, 1);
    for (u32 i = TID; i < n; i += 128) {
        float e = exp2f((as_float(LD_GLOBAL(u32, GLOBAL(0, BID * n + i), HERE)) - most) * 1.44269504f);
        ST_GLOBAL(u32, GLOBAL(1, BID * n + i), as_bits(e), HERE);
        sum += e;
    }
    sum = across(t, sum, 0);
    for (u32 i = TID; i < n; i += 128)
        ST_GLOBAL(u32, GLOBAL(1, BID * n + i), as_bits(as_float(LD_GLOBAL(u32, GLOBAL(1, BID * n + i), HERE)) / sum), HERE);
}

KERNEL(histogram, .flags = KERNEL_FIBERS, .static_shared = 1024) {  // in, bins, n; 256 bins
    ST_SHARED(u32, 4 * TID, 0, HERE);
    bar_sync(t, 0, 0, HERE);
    for (u32 i = BID * NTID + TID; i < (u32)ARG(2); i += NTID * t->launch->grid[0]) {
        u32 *p = (u32 *)AT_SHARED(4, 4 * (LD_GLOBAL(u32, GLOBAL(0, i), HERE) & 255), HERE, ORD_RELAXED);
        *p += 1;
        back_edge(t, HERE);
    }
    bar_sync(t, 0, 0, HERE);
    u32 *p = (u32 *)AT_GLOBAL(4, GLOBAL(1, TID), HERE, ORD_RELAXED);
    *p += LD_SHARED(u32, 4 * TID, HERE);
}
