// Tensor cores of one warp: ldmatrix, stmatrix, movmatrix, mma and wmma. Included by generated code and by tensor*.c.
// What hardware leaves open, and what is done here: the products are exact, their sum is taken in f64 in the order of k, and
// is rounded once. An H200 gives the same bits for f64, integers and f16 results of f16; where it sums in f32 it cuts instead
// of rounding (f16, bf16, tf32: a quarter to a half of the results differ, by 5e-7 of their root mean square at most); wgmma of
// fp8 sums with fewer bits (by 1e-3 at most, 4e-5 on average).
#ifndef EMU_TENSOR_H
#define EMU_TENSOR_H
#include "core.h"

// What an element of a matrix is.
typedef enum {
    ELEMENT_f16, ELEMENT_bf16, ELEMENT_tf32, ELEMENT_e4m3, ELEMENT_e5m2, ELEMENT_f32, ELEMENT_f64,
    ELEMENT_s8, ELEMENT_u8, ELEMENT_s4, ELEMENT_u4, ELEMENT_b1, ELEMENT_s32,
} Element;

// One kind of d = a * b + c. Registers are counted in words of 32 bits.
typedef struct MmaKind {
    u16 m, n, k;
    u8 a, b, c, d;        // Element
    u8 saturate;          // .satfinite of integers
    u8 and;               // b1: bits are combined by and, not xor
} MmaKind;

enum { MMA_WORDS = 16, MATRIX_WORDS = 4 };  // the most words a lane has of a fragment of mma, of ldmatrix

// d = a * b + c for the warp; the lane's fragments, of as many words as the shape has. d may be c.
void mma(Thread *t, const MmaKind *kind, const u32 *a, const u32 *b, const u32 *c, u32 *d, u32 site);

// `count` 8x8 matrices of 16 bits; lane l gives the address of row l % 8 of matrix l / 8. `generic`: addresses are generic.
void ldmatrix(Thread *t, u32 count, u32 transposed, u64 address, u32 generic, u32 *to, u32 site);
void stmatrix(Thread *t, u32 count, u32 transposed, u64 address, u32 generic, const u32 *from, u32 site);
u32 movmatrix(Thread *t, u32 value, u32 site);

// One fragment of wmma: which matrix of which shape, its elements, how it lies in memory.
typedef enum { WMMA_A, WMMA_B, WMMA_C } WmmaPart;
typedef struct WmmaKind {
    u16 m, n, k;
    u8 part;              // WmmaPart; WMMA_C: c and d
    u8 element;           // Element
    u8 column_major;
    u8 words;             // of a lane's fragment
} WmmaKind;
typedef enum { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED } Space;
void wmma_load(Thread *t, const WmmaKind *kind, Space space, u64 address, u32 stride, u32 *to, u32 site);
void wmma_store(Thread *t, const WmmaKind *kind, Space space, u64 address, u32 stride, const u32 *from, u32 site);
void wmma_mma(Thread *t, const MmaKind *kind, const u32 *a, const u32 *b, const u32 *c, u32 *d, u32 site);

// ---- used by other parts of the runtime
typedef double Row8 __attribute__((vector_size(64)));
// sums[r] += a[r][k] * b[k] for all k in order; a has `rows` rows of `depth`.
void add_products(u32 rows, u32 depth, const double *a, const Row8 *b, Row8 *sums);
u32 element_bits(Element e);
int is_integer(Element e);
double element_value(u32 bits, Element e);        // not f64
u32 rounded_to(double x, Element e);              // f16, f32
u32 clamped_sum(s64 x, u32 saturate);
#endif
