// mma: the fragments of PTX ISA, "Warp level matrix multiply-accumulate". One rule covers all shapes: lane l holds, in
// group g = l / 4 and place p = l % 4, with e elements to a word,
//   of a (m x k): word w, element h  = a[g + 8 * (w & 1)][p * e + h + 4 * e * (w >> 1)]   (m = 8: all words in row g)
//   of b (k x n): word w, element h  = b[p * e + h + 4 * e * w][g]
//   of c, d (m x n): element i       = c[g + 8 * (i >> 1)][2 * p + (i & 1)]
// A "word" of f64 has 64 bits.
#include "tensor.h"
#include "engine.h"
#include "arith.h"

enum { MOST_M = 16, MOST_K = 256 };
typedef struct { const MmaKind *kind; const u32 *a, *b, *c; u32 *d; u32 site; } Mma;
typedef struct { u32 row, column; } Place;

INL u32 words_of(u32 elements, Element e) { return elements * element_bits(e) / 32 / 32; }

INL Place place_a(const MmaKind *kind, u32 lane, u32 word, u32 h, u32 per_word) {
    u32 high = kind->m == 16 ? word & 1 : 0, step = kind->m == 16 ? word >> 1 : word;
    return (Place){lane / 4 + 8 * high, lane % 4 * per_word + h + 4 * per_word * step};
}
INL Place place_b(u32 lane, u32 word, u32 h, u32 per_word) {
    return (Place){lane % 4 * per_word + h + 4 * per_word * word, lane / 4};
}
INL Place place_c(u32 lane, u32 i) { return (Place){lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1)}; }

INL u32 part_of(u32 word, u32 h, u32 bits) { return bits == 32 ? word : word >> (h * bits) & ((1u << bits) - 1); }

// a as rows of k, b as k rows of 8.
static void gather(const MmaKind *kind, Mma **lanes, double *a, double *b) {
    u32 bits_a = element_bits(kind->a), bits_b = element_bits(kind->b), ea = 32 / bits_a, eb = 32 / bits_b;
    u32 words_a = words_of(kind->m * kind->k, kind->a), words_b = words_of(kind->k * kind->n, kind->b);
    for (u32 l = 0; l < 32; l++) {
        for (u32 w = 0; w < words_a; w++)
            for (u32 h = 0; h < ea; h++) {
                Place at = place_a(kind, l, w, h, ea);
                a[at.row * kind->k + at.column] = element_value(part_of(lanes[l]->a[w], h, bits_a), kind->a);
            }
        for (u32 w = 0; w < words_b; w++)
            for (u32 h = 0; h < eb; h++) {
                Place at = place_b(l, w, h, eb);
                b[at.row * 8 + at.column] = element_value(part_of(lanes[l]->b[w], h, bits_b), kind->b);
            }
    }
}

static void floats(const MmaKind *kind, Mma **lanes) {
    double a[MOST_M * 64];
    Row8 b[64], sums[MOST_M];
    gather(kind, lanes, a, (double *)b);
    u32 each = kind->m * kind->n / 32;
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < each; i++) {
            Place at = place_c(l, i);
            u32 bits = kind->c == ELEMENT_f16 ? part_of(lanes[l]->c[i / 2], i & 1, 16) : lanes[l]->c[i];
            sums[at.row][at.column] = is_integer(kind->c) ? (s32)bits : element_value(bits, kind->c);
        }
    add_products(kind->m, kind->k, a, b, sums);
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < each; i++) {
            Place at = place_c(l, i);
            double x = sums[at.row][at.column];  // of integers exact: below 2^53
            u32 bits = is_integer(kind->d) ? clamped_sum((s64)x, kind->saturate) : rounded_to(x, kind->d);
            if (kind->d != ELEMENT_f16) lanes[l]->d[i] = bits;
            else if (i & 1) lanes[l]->d[i / 2] |= bits << 16;
            else lanes[l]->d[i / 2] = bits;
        }
}

// One fused multiply-add after the other, in the order of k.
static void doubles(const MmaKind *kind, Mma **lanes) {
    double a[MOST_M][16], b[16][8], c[MOST_M][8];
    u32 words_a = kind->m * kind->k / 32, words_b = kind->k * kind->n / 32, each = kind->m * kind->n / 32;
    for (u32 l = 0; l < 32; l++) {
        const double *la = (const double *)lanes[l]->a, *lb = (const double *)lanes[l]->b, *lc = (const double *)lanes[l]->c;
        for (u32 w = 0; w < words_a; w++) {
            Place at = place_a(kind, l, w, 0, 1);
            a[at.row][at.column] = la[w];
        }
        for (u32 w = 0; w < words_b; w++) b[place_b(l, w, 0, 1).row][l / 4] = lb[w];
        for (u32 i = 0; i < each; i++) c[place_c(l, i).row][place_c(l, i).column] = lc[i];
    }
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < each; i++) {
            Place at = place_c(l, i);
            double x = c[at.row][at.column];
            for (u32 k = 0; k < kind->k; k++) x = fma(a[at.row][k], b[k][at.column], x);
            ((u64 *)lanes[l]->d)[i] = x == x ? bits_of_f64(x) : F64_NAN;
        }
}

static void bits(const MmaKind *kind, Mma **lanes) {
    u32 a[MOST_M][MOST_K / 32] = {{0}}, b[8][MOST_K / 32] = {{0}};
    u32 words = kind->k / 32, each = kind->m * kind->n / 32;
    for (u32 l = 0; l < 32; l++) {
        for (u32 w = 0; w < kind->m / 8 * words / 4; w++) {
            Place at = place_a(kind, l, w, 0, 32);
            a[at.row][at.column / 32] = lanes[l]->a[w];
        }
        for (u32 w = 0; w < words / 4; w++) b[l / 4][place_b(l, w, 0, 32).row / 32] = lanes[l]->b[w];
    }
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < each; i++) {
            Place at = place_c(l, i);
            u32 sum = lanes[l]->c[i];
            for (u32 w = 0; w < words; w++) {
                u32 x = a[at.row][w], y = b[at.column][w];
                sum += __builtin_popcount(kind->and ? x & y : x ^ y);
            }
            lanes[l]->d[i] = sum;
        }
}

static void run_mma(Warp *w, void **lanes, u32 mask, u32 site) {
    static const u32 zeros[MMA_WORDS];
    static u32 nowhere[MMA_WORDS];
    u32 first = __builtin_ctz(mask);
    const MmaKind *kind = ((Mma *)lanes[first])->kind;
    Mma absent = {kind, zeros, zeros, zeros, nowhere, site}, *all[32];
    for (u32 l = 0; l < 32; l++) {
        all[l] = mask >> l & 1 ? lanes[l] : &absent;
        if (UNLIKELY(all[l]->site != ((Mma *)lanes[first])->site))
            finding(warp_thread(w, l), 8021, all[l]->site, 0, 0, "lanes of one warp are at different matrix instructions");
    }
    if (UNLIKELY(mask != ~0u)) finding(warp_thread(w, first), 8021, site, 0, 0, "a matrix instruction without all 32 lanes");
    if (kind->a == ELEMENT_f64) doubles(kind, all);
    else if (kind->a == ELEMENT_b1) bits(kind, all);
    else floats(kind, all);
}

void mma(Thread *t, const MmaKind *kind, const u32 *a, const u32 *b, const u32 *c, u32 *d, u32 site) {
    Mma me = {kind, a, b, c, d, site};
    collective(t, ~0u, &me, site, run_mma);
}
