// wmma. Which lane holds which element of a fragment is left open by PTX; here a fragment is made of those of mma: of 16 (or
// 8) rows of a, 8 columns of b. Where a fragment has more registers than elements, they repeat.
#include "tensor.h"
#include "engine.h"

typedef struct { u32 row, column; } Place;

static Place place(const WmmaKind *kind, u32 lane, u32 i) {
    u32 bits = element_bits(kind->element), e = bits > 32 ? 1 : 32 / bits, group = lane / 4, p = lane % 4;
    u32 rows = kind->m == 8 ? 8 : 16;  // of one mma
    if (kind->part == WMMA_C) {
        u32 each = rows / 4, block = i / each, across = kind->n / 8;
        i %= each;
        return (Place){group + 8 * (i >> 1) + rows * (block / across), 2 * p + (i & 1) + 8 * (block % across)};
    }
    u32 unit = bits > 32 ? bits : 32, w = i / e, h = i % e;
    if (kind->part == WMMA_B) {
        u32 words = kind->k * 8 * bits / unit / 32, block = w / words % (kind->n / 8);
        return (Place){p * e + h + 4 * e * (w % words), group + 8 * block};
    }
    u32 words = rows * kind->k * bits / unit / 32, block = w / words % (kind->m / rows);
    w %= words;
    u32 high = rows == 16 ? w & 1 : 0, step = rows == 16 ? w >> 1 : w;
    return (Place){group + 8 * high + rows * block, p * e + h + 4 * e * step};
}

typedef struct { u64 address; u32 stride, site; } Same;
static void run_same(Warp *w, void **lanes, u32 mask, u32 site) {
    u32 first = __builtin_ctz(mask);
    Same *kind = lanes[first];
    if (UNLIKELY(mask != ~0u)) finding(warp_thread(w, first), 8021, site, 0, 0, "a matrix instruction without all 32 lanes");
    for (u32 m = mask; m; m &= m - 1) {
        u32 l = __builtin_ctz(m);
        Same *me = lanes[l];
        if (UNLIKELY(me->address != kind->address || me->stride != kind->stride || me->site != kind->site))
            finding(warp_thread(w, l), 8021, me->site, 0, 0, "lanes of one warp name different matrices");
    }
}

static u8 *access(Thread *t, Space space, u64 address, u32 n, u32 kind, u32 site) {
    static u8 nowhere[8];
    u8 *p = space == SPACE_SHARED   ? access_shared(t, (u32)address, n, kind, site)
            : space == SPACE_GLOBAL ? access_global(t, address, n, kind, site)
                                    : access_generic(t, address, n, kind, site);
    return LIKELY(p != NULL) ? p : memset(nowhere, 0, sizeof nowhere);
}

static void move(Thread *t, const WmmaKind *kind, Space space, u64 address, u32 stride, u32 *words, u32 access_kind, u32 site) {
    Same me = {address, stride, site};
    collective(t, ~0u, &me, site, run_same);
    u32 bits = element_bits(kind->element), count = kind->words * 32 / bits, bytes = bits < 8 ? 1 : bits / 8;
    if (access_kind == ACCESS_READ) memset(words, 0, 4 * kind->words);
    for (u32 i = 0; i < count; i++) {
        Place at = place(kind, t->lane, i);
        u64 index = kind->column_major ? (u64)at.column * stride + at.row : (u64)at.row * stride + at.column;
        u8 *p = access(t, space, address + index * bits / 8, bytes, access_kind, site);
        u8 *mine = (u8 *)words + (u64)i * bits / 8;
        if (access_kind == ACCESS_WRITE) memcpy(p, mine, bytes);  // what is stored has 16 bits at least
        else if (bits >= 8) memcpy(mine, p, bytes);
        else *mine |= (*p >> index * bits % 8 & ((1u << bits) - 1)) << i * bits % 8;
    }
}

void wmma_load(Thread *t, const WmmaKind *kind, Space space, u64 address, u32 stride, u32 *to, u32 site) {
    move(t, kind, space, address, stride, to, ACCESS_READ, site);
}

void wmma_store(Thread *t, const WmmaKind *kind, Space space, u64 address, u32 stride, const u32 *from, u32 site) {
    move(t, kind, space, address, stride, (u32 *)from, ACCESS_WRITE, site);
}

void wmma_mma(Thread *t, const MmaKind *kind, const u32 *a, const u32 *b, const u32 *c, u32 *d, u32 site) {
    MmaKind part = *kind;
    part.m = kind->m == 8 ? 8 : 16;
    part.n = 8;
    u32 words_a = part.m * part.k * element_bits(kind->a) / 1024, words_b = part.k * 8 * element_bits(kind->b) / 1024;
    u32 words_c = part.m * 8 * element_bits(kind->c) / 1024, words_d = part.m * 8 * element_bits(kind->d) / 1024;
    u32 down = kind->m / part.m, across = kind->n / 8;
    for (u32 i = 0; i < down; i++)
        for (u32 j = 0; j < across; j++, c += words_c, d += words_d)
            mma(t, &part, a + i * words_a, b + j * words_b, c, d, site);
}
