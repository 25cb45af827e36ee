// wgmma: each warp of the four multiplies its 16 rows. The sums are there at once; until wait_group the operands in shared
// memory may not change, and the emitter asks wgmma_touched before it uses the registers otherwise (but for moves, which a
// compiler may make of one register).
// Shared memory operands lie as a matrix descriptor says (PTX ISA, "Asynchronous warpgroup level matrix shared memory layout");
// everything is in pieces of 16 bytes: along k of one row (K-major), or along rows of one k (MN-major).
#include "hopper_engine.h"
#include "tensor.h"
#include <stdlib.h>

enum { ROWS = 16, MOST_N = 256, MOST_K = 32, MOST_PIECES = 64 * 2 + MOST_N * 2 };

typedef struct Operands {   // of the wgmmas of a warp that nobody waited for: pieces of shared memory
    u32 n, max;
    struct { u32 offset, group, site; } pieces[];
} Operands;

typedef struct Matrix {     // an operand in shared memory
    u32 start, leading, stride, width;  // bytes; width of a swizzled row, 16: none
    u32 mn_major, element;  // bytes
    Element type;
} Matrix;

typedef struct Wgmma { const WgmmaKind *kind; u32 *d; const u32 *a_registers; u64 a, b; u32 scale_d, site; } Wgmma;

static Matrix describe(Thread *t, u64 d, Element type, u32 mn_major, u32 site) {
    static const u8 widths[] = {16, 128, 64, 32};
    if (d >> 49 & 7) unsupported(t, site, "a matrix descriptor with a base offset");
    return (Matrix){(u32)(d & 0x3fff) << 4, (u32)(d >> 16 & 0x3fff) << 4, (u32)(d >> 32 & 0x3fff) << 4, widths[d >> 62],
                    mn_major, element_bits(type) / 8, type};
}

INL u32 swizzled(u32 offset, u32 width) { return offset ^ ((offset >> 7) & (width / 16 - 1)) << 4; }

// Offset of the piece that begins at (row, k).
static u32 piece_at(const Matrix *m, u32 row, u32 k) {
    u32 offset = m->start, w = m->width / 16;
    if (m->mn_major) {
        u32 p = row * m->element / 16;
        if (w == 1) offset += p * m->stride + k / 8 * m->leading + k % 8 * 16;
        else offset += p % w * 16 + p / w * m->leading + k / 8 * m->stride + k % 8 * m->width;
    } else {
        u32 p = k * m->element / 16;
        offset += row / 8 * m->stride + row % 8 * m->width + (w == 1 ? p * m->leading : p * 16);
    }
    return swizzled(offset, m->width);
}

INL double value_at(const u8 *p, const Matrix *m, u32 i) {
    u32 bits = 0;
    memcpy(&bits, p + i * m->element, m->element);
    return element_value(bits, m->type);
}

static void note(Thread *t, u32 offset, u32 site) {
#ifdef CHECK
    WarpAsync *w = warp_async(t);
    Place at = {slot_of(t), offset};
    touch_place(t, at, PIECE, ACCESS_READ, site);
    need_proxy_fence(t, at, PIECE, site);
    start_reading(t, at, PIECE, site);
    if (!w->operands || w->operands->n == w->operands->max) {
        u32 max = w->operands ? w->operands->max * 2 : 4 * MOST_PIECES;
        Operands *grown = realloc(w->operands, sizeof *grown + max * sizeof *grown->pieces);
        if (!grown) abort();
        if (!w->operands) grown->n = 0;
        grown->max = max;
        w->operands = grown;
    }
    Operands *o = w->operands;
    o->pieces[o->n].offset = offset;
    o->pieces[o->n].group = w->group;
    o->pieces[o->n++].site = site;
#endif
}

// Rows [first, first + rows) of an operand, k by k: to[(row - first) * by_row + k * by_k].
static int read_matrix(Thread *t, const Matrix *m, u32 first, u32 rows, u32 depth, double *to, u32 by_row, u32 by_k, u32 site) {
    static const u8 nothing[PIECE];
    u32 each = PIECE / m->element, down = m->mn_major ? each : 1, along = m->mn_major ? 1 : each;
    for (u32 row = 0; row < rows; row += down)
        for (u32 k = 0; k < depth; k += along) {
            u32 offset = piece_at(m, first + row, k);
            const u8 *p = nothing;
            if (LIKELY((u64)offset + PIECE <= t->block->shared_bytes)) {
                note(t, offset, site);
                p = t->shared + offset;
            } else finding(t, 8002, site, offset, PIECE, "a matrix descriptor that leads outside of shared memory");
            for (u32 i = 0; i < each; i++) to[(row + (m->mn_major ? i : 0)) * by_row + (k + (m->mn_major ? 0 : i)) * by_k] = value_at(p, m, i);
        }
    return 1;
}

static void read_registers(Wgmma **lanes, const WgmmaKind *kind, double *a) {
    u32 bits = element_bits(kind->a), e = 32 / bits;
    for (u32 l = 0; l < 32; l++)
        for (u32 w = 0; w < 4; w++)
            for (u32 h = 0; h < e; h++) {
                u32 word = lanes[l]->a_registers[w], x = bits == 32 ? word : word >> h * bits & ((1u << bits) - 1);
                a[(l / 4 + 8 * (w & 1)) * kind->k + l % 4 * e + h + 4 * e * (w >> 1)] = element_value(x, kind->a);
            }
}

// Accumulator i of lane l: row l / 4 + 8 * (i >> 1 & 1), column 8 * (i >> 2) + 2 * (l % 4) + (i & 1).
static void accumulate(Wgmma **lanes, const WgmmaKind *kind, double *a, const Row8 *b, u32 block) {
    Row8 sums[ROWS];
    u32 is_half = kind->d == ELEMENT_f16;
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < 4; i++) {
            u32 j = 4 * block + i, word = lanes[l]->d[is_half ? j / 2 : j];
            double x = !lanes[l]->scale_d ? 0 : is_half ? element_value(word >> 16 * (j & 1) & 0xffff, ELEMENT_f16) : element_value(word, kind->d);
            sums[l / 4 + 8 * (i >> 1)][2 * (l % 4) + (i & 1)] = x;
        }
    add_products(ROWS, kind->k, a, b, sums);
    for (u32 l = 0; l < 32; l++)
        for (u32 i = 0; i < 4; i++) {
            u32 j = 4 * block + i;
            double x = sums[l / 4 + 8 * (i >> 1)][2 * (l % 4) + (i & 1)];
            if (is_half) ((u16 *)lanes[l]->d)[j] = (u16)rounded_to(x, ELEMENT_f16);
            else lanes[l]->d[j] = is_integer(kind->d) ? clamped_sum((s64)x, kind->saturate) : rounded_to(x, kind->d);
        }
}

static void run_wgmma(Warp *w, void **all, u32 mask, u32 site) {
    static double a[ROWS * MOST_K];
    static Row8 b[MOST_N / 8][MOST_K];
    Wgmma **lanes = (Wgmma **)all, *first = lanes[0];
    Thread *t = warp_thread(w, __builtin_ctz(mask));
    if (mask != ~0u) unsupported(t, site, "wgmma without all 32 lanes of a warp");
    const WgmmaKind *kind = first->kind;
    for (u32 l = 1; l < 32; l++) {
        if (UNLIKELY(lanes[l]->site != first->site))
            finding(warp_thread(w, l), 8021, lanes[l]->site, 0, 0, "lanes of one warp are at different matrix instructions");
        if (UNLIKELY(lanes[l]->b != first->b || lanes[l]->scale_d != first->scale_d || (!kind->from_registers && lanes[l]->a != first->a)))
            finding(warp_thread(w, l), 8021, site, 0, 0, "lanes of one warp pass different matrix descriptors");
    }
    WarpAsync *mine = warp_async(t);
    if (UNLIKELY(!mine->fenced)) finding(t, 8011, site, 0, 0, "wgmma without a wgmma.fence before it: registers may not be written yet");
    mine->fenced = 1;
    if (kind->from_registers) read_registers(lanes, kind, a);
    else {
        Matrix m = describe(t, first->a, kind->a, kind->mn_major_a, site);
        read_matrix(t, &m, w->index % 4 * ROWS, ROWS, kind->k, a, kind->k, 1, site);
    }
    Matrix m = describe(t, first->b, kind->b, kind->mn_major_b, site);
    for (u32 block = 0; block < kind->n / 8u; block++)
        read_matrix(t, &m, 8 * block, 8, kind->k, (double *)b[block], 1, 8, site);
    if (kind->negate_a != kind->negate_b)
        for (u32 i = 0; i < ROWS * kind->k; i++) a[i] = -a[i];
    for (u32 block = 0; block < kind->n / 8u; block++) accumulate(lanes, kind, a, b[block], block);
}

void wgmma(Thread *t, const WgmmaKind *kind, u32 *d, const void *a, u64 b, u32 scale_d, u32 site) {
    Wgmma me = {kind, d, a, kind->from_registers ? 0 : *(const u64 *)a, b, scale_d, site};
    collective(t, ~0u, &me, site, run_wgmma);
}

static void run_fence(Warp *w, void **lanes, u32 mask, u32 site) { warp_async(warp_thread(w, __builtin_ctz(mask)))->fenced = 1; }
static void run_commit(Warp *w, void **lanes, u32 mask, u32 site) { warp_async(warp_thread(w, __builtin_ctz(mask)))->group++; }

// Ends what was issued before the newest `pending` groups; ~0: all.
static void retire(Thread *t, u32 pending) {
#ifdef CHECK
    WarpAsync *mine = warp_async(t);
    u32 kept = 0;
    Operands *o = mine->operands;
    for (u32 i = 0; o && i < o->n; i++) {
        if (pending == ~0u || o->pieces[i].group + pending < mine->group)
            stop_reading(t, (Place){slot_of(t), o->pieces[i].offset}, PIECE, o->pieces[i].site, "shared memory is overwritten while wgmma reads it");
        else o->pieces[kept++] = o->pieces[i];
    }
    if (o) o->n = kept;
#endif
}

void wgmma_touched(Thread *t, const u32 *sites, u32 n, u32 written, u32 site) {
    WarpAsync *mine = warp_async(t);
    const Operands *o = mine->operands;
    if (written) mine->fenced = 0;
    for (u32 i = 0; o && i < o->n; i++)
        for (u32 k = 0; k < n; k++)
            if (o->pieces[i].site == sites[k]) {
                finding_from(t, 8011, site, 0, 0, sites[k], t->block->linear, t->linear, "registers of a wgmma are used before it was waited for");
                return;
            }
}

void wgmma_thread_exit(Thread *t) {
    Operands *o = warp_async(t)->operands;
    if (LIKELY(!o || !o->n)) return;
    finding(t, 8011, o->pieces[0].site, 0, 0, "a warp exits before its wgmma was waited for");
    retire(t, ~0u);
}

static void run_wait(Warp *w, void **lanes, u32 mask, u32 site) {
    Thread *t = warp_thread(w, __builtin_ctz(mask));
    retire(t, *(u32 *)lanes[t->lane]);
}

void wgmma_fence(Thread *t, u32 site) { collective(t, ~0u, NULL, site, run_fence); }
void wgmma_commit(Thread *t, u32 site) { collective(t, ~0u, NULL, site, run_commit); }
void wgmma_wait(Thread *t, u32 pending, u32 site) { collective(t, ~0u, &pending, site, run_wait); }
