// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16 bits between rows in shared memory and fragments, in which word j of
// lane l has row l / 4, columns 2 * (l % 4) and the next of matrix j; transposed, rows and columns change places.
#include "tensor.h"
#include "engine.h"

typedef struct { u64 address; u8 *row; u32 generic, count, transposed, site; u32 words[MATRIX_WORDS]; } Matrices;

// The rows that the lanes name, checked as accesses of those lanes.
static void find_rows(Warp *w, Matrices **lanes, u32 mask, u32 kind, u32 site) {
    static u8 nowhere[16];
    u32 first = __builtin_ctz(mask);
    if (UNLIKELY(mask != ~0u)) finding(warp_thread(w, first), 8021, site, 0, 0, "a matrix instruction without all 32 lanes");
    for (u32 l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        Thread *t = warp_thread(w, l);
        Matrices *me = lanes[l];
        if (UNLIKELY(me->site != lanes[first]->site))
            finding(t, 8021, me->site, 0, 0, "lanes of one warp are at different matrix instructions");
        if (l >= 8 * lanes[first]->count) continue;
        me->row = me->generic ? access_generic(t, me->address, 16, kind, site) : access_shared(t, (u32)me->address, 16, kind, site);
        if (UNLIKELY(!me->row)) me->row = memset(nowhere, 0, sizeof nowhere);
    }
}

INL u16 *element(Matrices **lanes, u32 mask, u32 matrix, u32 lane, u32 half) {
    static u16 nowhere;
    u32 row = lane / 4, column = lane % 4 * 2 + half;
    if (lanes[__builtin_ctz(mask)]->transposed) {
        u32 r = row;
        row = column, column = r;
    }
    return mask >> (8 * matrix + row) & 1 ? (u16 *)lanes[8 * matrix + row]->row + column : &nowhere;
}

static void run_ldmatrix(Warp *w, void **all, u32 mask, u32 site) {
    Matrices **lanes = (Matrices **)all;
    find_rows(w, lanes, mask, ACCESS_READ, site);
    for (u32 l = 0; l < 32; l++)
        for (u32 j = 0; mask >> l & 1 && j < lanes[l]->count; j++)
            lanes[l]->words[j] = *element(lanes, mask, j, l, 0) | (u32)*element(lanes, mask, j, l, 1) << 16;
}

static void run_stmatrix(Warp *w, void **all, u32 mask, u32 site) {
    Matrices **lanes = (Matrices **)all;
    find_rows(w, lanes, mask, ACCESS_WRITE, site);
    for (u32 l = 0; l < 32; l++)
        for (u32 j = 0; mask >> l & 1 && j < lanes[l]->count; j++)
            for (u32 h = 0; h < 2; h++) *element(lanes, mask, j, l, h) = (u16)(lanes[l]->words[j] >> 16 * h);
}

void ldmatrix(Thread *t, u32 count, u32 transposed, u64 address, u32 generic, u32 *to, u32 site) {
    Matrices me = {address, NULL, generic, count, transposed, site, {0}};
    collective(t, ~0u, &me, site, run_ldmatrix);
    memcpy(to, me.words, 4 * count);
}

void stmatrix(Thread *t, u32 count, u32 transposed, u64 address, u32 generic, const u32 *from, u32 site) {
    Matrices me = {address, NULL, generic, count, transposed, site, {0}};
    memcpy(me.words, from, 4 * count);
    collective(t, ~0u, &me, site, run_stmatrix);
}

static void run_movmatrix(Warp *w, void **all, u32 mask, u32 site) {
    u16 matrix[8][8] = {{0}};
    if (UNLIKELY(mask != ~0u))
        finding(warp_thread(w, __builtin_ctz(mask)), 8021, site, 0, 0, "a matrix instruction without all 32 lanes");
    for (u32 l = 0; l < 32; l++)
        for (u32 h = 0; mask >> l & 1 && h < 2; h++) matrix[l / 4][l % 4 * 2 + h] = (u16)(*(u32 *)all[l] >> 16 * h);
    for (u32 l = 0; l < 32; l++)
        if (mask >> l & 1) *(u32 *)all[l] = matrix[l % 4 * 2][l / 4] | (u32)matrix[l % 4 * 2 + 1][l / 4] << 16;
}

u32 movmatrix(Thread *t, u32 value, u32 site) {
    collective(t, ~0u, &value, site, run_movmatrix);
    return value;
}
