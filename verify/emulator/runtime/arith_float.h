// f32 and f64 on bits: IEEE operations with any rounding, minima, comparisons, flushing and saturation.
#ifndef EMU_ARITH_FLOAT_H
#define EMU_ARITH_FLOAT_H
#include "arith_soft.h"

// .ftz: subnormal operands and results become zeros of their sign.
INL u32 ftz32(u32 a) { return a & 0x7f800000u ? a : a & 0x80000000u; }

// .sat: to [0, 1]; a NaN becomes +0.
INL u32 sat32(u32 a) {
    float x = f32_of(a);
    return x >= 1.0f ? 0x3f800000u : x > 0.0f ? a : 0;
}
INL u64 sat64(u64 a) {
    double x = f64_of(a);
    return x >= 1.0 ? 0x3ff0000000000000ull : x > 0.0 ? a : 0;
}

INL int is_nan32(u32 a) { return (a & 0x7fffffffu) > 0x7f800000u; }
INL int is_nan64(u64 a) { return (a & ~(1ull << 63)) > 0x7ff0000000000000ull; }

INL u64 f64_out(double x) { return x == x ? bits_of_f64(x) : F64_NAN; }

// f64 hands on a NaN operand, quieted, with its sign (also sub, neg and abs) and payload; an invalid operation gives
// F64_NAN. Of several NaNs an instruction takes b before c before a (operands as ptxas leaves them where the instruction
// stands alone; it may swap factors); division, a subroutine, takes a first.
INL u64 quiet64(u64 a) { return a | 1ull << 51; }
INL u64 f64_passing(double x, u64 first, u64 second, u64 third) {
    if (x == x) return bits_of_f64(x);
    return is_nan64(first) ? quiet64(first) : is_nan64(second) ? quiet64(second) : is_nan64(third) ? quiet64(third) : F64_NAN;
}
#define PASSING_32(result, first, second, third) (u32)(result)
#define PASSING_64(result, first, second, third) f64_passing(f64_of(result), first, second, third)

INL u32 f32_add_rn(u32 a, u32 b) { return f32_out(f32_of(a) + f32_of(b)); }
INL u32 f32_sub_rn(u32 a, u32 b) { return f32_out(f32_of(a) - f32_of(b)); }
INL u32 f32_mul_rn(u32 a, u32 b) { return f32_out(f32_of(a) * f32_of(b)); }
INL u32 f32_fma_rn(u32 a, u32 b, u32 c) { return f32_out(fmaf(f32_of(a), f32_of(b), f32_of(c))); }
INL u32 f32_div_rn(u32 a, u32 b) { return f32_out(f32_of(a) / f32_of(b)); }
INL u32 f32_rcp_rn(u32 a) { return f32_out(1.0f / f32_of(a)); }
INL u32 f32_sqrt_rn(u32 a) { return f32_out(sqrtf(f32_of(a))); }
INL u64 f64_add_rn(u64 a, u64 b) { return f64_passing(f64_of(a) + f64_of(b), b, a, a); }
INL u64 f64_sub_rn(u64 a, u64 b) { return f64_passing(f64_of(a) - f64_of(b), b, a, a); }
INL u64 f64_mul_rn(u64 a, u64 b) { return f64_passing(f64_of(a) * f64_of(b), b, a, a); }
INL u64 f64_fma_rn(u64 a, u64 b, u64 c) { return f64_passing(fma(f64_of(a), f64_of(b), f64_of(c)), b, c, a); }
INL u64 f64_div_rn(u64 a, u64 b) { return f64_passing(f64_of(a) / f64_of(b), a, b, b); }
INL u64 f64_rcp_rn(u64 a) { return f64_passing(1.0 / f64_of(a), a, a, a); }
INL u64 f64_sqrt_rn(u64 a) { return f64_passing(sqrt(f64_of(a)), a, a, a); }

// f32 by way of f64, in which the product is exact; what the sum there left out says on which side of the result it lies.
static inline u32 f32_fma_directed(u32 a, u32 b, u32 c, int mode) {
    double p = (double)f32_of(a) * f32_of(b), z = f32_of(c), sum = p + z, q = sum - p, rest = (p - (sum - q)) + (z - q);
    if (!isfinite(sum) || sum == 0) return soft_fma(a, b, c, FORMAT_f32, mode);
    float r = (float)sum;
    double over = (double)r - sum;
    u32 bits = bits_of_f32(r), negative = bits >> 31;
    if (mode == ROUND_rz) mode = negative ? ROUND_rp : ROUND_rm;
    if (mode == ROUND_rm && (over > 0 || (over == 0 && rest < 0))) bits += negative ? 1 : -1;
    if (mode == ROUND_rp && (over < 0 || (over == 0 && rest > 0))) bits += negative ? -1 : 1;
    return bits;
}
#define FMA_DIRECTED_32(a, b, c, R) f32_fma_directed(a, b, c, ROUND_##R)
#define FMA_DIRECTED_64(a, b, c, R) soft_fma(a, b, c, FORMAT_f64, ROUND_##R)

#define EMU_DIRECTED(R, W, ONE)                                                                   \
    static inline u##W f##W##_add_##R(u##W a, u##W b) {                                           \
        return PASSING_##W(soft_add(a, b, FORMAT_f##W, ROUND_##R), b, a, a);                      \
    }                                                                                             \
    static inline u##W f##W##_sub_##R(u##W a, u##W b) {                                           \
        return PASSING_##W(soft_add(a, b ^ (u##W)1 << (W - 1), FORMAT_f##W, ROUND_##R), b, a, a); \
    }                                                                                             \
    static inline u##W f##W##_mul_##R(u##W a, u##W b) {                                           \
        return PASSING_##W(soft_mul(a, b, FORMAT_f##W, ROUND_##R), b, a, a);                      \
    }                                                                                             \
    static inline u##W f##W##_fma_##R(u##W a, u##W b, u##W c) {                                   \
        return PASSING_##W(FMA_DIRECTED_##W(a, b, c, R), b, c, a);                                \
    }                                                                                             \
    static inline u##W f##W##_div_##R(u##W a, u##W b) {                                           \
        return PASSING_##W(soft_div(a, b, FORMAT_f##W, ROUND_##R), a, b, b);                      \
    }                                                                                             \
    static inline u##W f##W##_rcp_##R(u##W a) {                                                   \
        return PASSING_##W(soft_div(ONE, a, FORMAT_f##W, ROUND_##R), a, a, a);                    \
    }                                                                                             \
    static inline u##W f##W##_sqrt_##R(u##W a) {                                                  \
        return PASSING_##W(soft_sqrt(a, FORMAT_f##W, ROUND_##R), a, a, a);                        \
    }
EMU_DIRECTED(rz, 32, 0x3f800000u)
EMU_DIRECTED(rm, 32, 0x3f800000u)
EMU_DIRECTED(rp, 32, 0x3f800000u)
EMU_DIRECTED(rz, 64, 0x3ff0000000000000ull)
EMU_DIRECTED(rm, 64, 0x3ff0000000000000ull)
EMU_DIRECTED(rp, 64, 0x3ff0000000000000ull)

// .ftz flushes what is below the smallest normal number once rounded as if exponents had no limit. Flushing the rounded
// result differs only where that is 2^-126 itself: there the operation is done again 2^24 higher (of two factors the
// smaller is lifted: the other may be large).
INL int is_smallest32(u32 r) { return (r & 0x7fffffffu) == 0x00800000u; }
INL u32 lifted32(u32 a) { return a & 0x7f800000u ? a + (24u << 23) : a; }
INL u32 flushed32(u32 r, u32 lifted) { return (lifted & 0x7fffffffu) < 25u << 23 ? r & 0x80000000u : r; }
#define EMU_FLUSHING(R)                                                                                           \
    static inline u32 f32_fma_##R##_ftz(u32 a, u32 b, u32 c) {                                                    \
        a = ftz32(a), b = ftz32(b), c = ftz32(c);                                                                 \
        u32 r = f32_fma_##R(a, b, c);                                                                             \
        if (!is_smallest32(r)) return ftz32(r);                                                                   \
        if ((a & 0x7fffffffu) > (b & 0x7fffffffu)) return flushed32(r, f32_fma_##R(a, lifted32(b), lifted32(c))); \
        return flushed32(r, f32_fma_##R(lifted32(a), b, lifted32(c)));                                            \
    }                                                                                                             \
    static inline u32 f32_mul_##R##_ftz(u32 a, u32 b) {                                                           \
        a = ftz32(a), b = ftz32(b);                                                                               \
        u32 r = f32_mul_##R(a, b);                                                                                \
        if (!is_smallest32(r)) return ftz32(r);                                                                   \
        if ((a & 0x7fffffffu) > (b & 0x7fffffffu)) return flushed32(r, f32_mul_##R(a, lifted32(b)));              \
        return flushed32(r, f32_mul_##R(lifted32(a), b));                                                         \
    }                                                                                                             \
    static inline u32 f32_div_##R##_ftz(u32 a, u32 b) {                                                           \
        a = ftz32(a), b = ftz32(b);                                                                               \
        u32 r = f32_div_##R(a, b);                                                                                \
        return is_smallest32(r) ? flushed32(r, f32_div_##R(lifted32(a), b)) : ftz32(r);                           \
    }                                                                                                             \
    static inline u32 f32_rcp_##R##_ftz(u32 a) { return f32_div_##R##_ftz(0x3f800000u, a); }
EMU_FLUSHING(rn)
EMU_FLUSHING(rz)
EMU_FLUSHING(rm)
EMU_FLUSHING(rp)

// The smaller and the larger; -0 is below +0. Of a number and a NaN the number; of two NaNs `BOTH`.
#define EMU_MINMAX(W, BOTH)                                                               \
    INL u##W f##W##_min(u##W a, u##W b) {                                                 \
        if (is_nan##W(a)) return is_nan##W(b) ? BOTH : b;                                 \
        if (is_nan##W(b)) return a;                                                       \
        return f##W##_of(a) < f##W##_of(b) ? a : f##W##_of(b) < f##W##_of(a) ? b : a | b; \
    }                                                                                     \
    INL u##W f##W##_max(u##W a, u##W b) {                                                 \
        if (is_nan##W(a)) return is_nan##W(b) ? BOTH : b;                                 \
        if (is_nan##W(b)) return a;                                                       \
        return f##W##_of(a) > f##W##_of(b) ? a : f##W##_of(b) > f##W##_of(a) ? b : a & b; \
    }
EMU_MINMAX(32, F32_NAN)
EMU_MINMAX(64, quiet64(b))

INL u32 f32_min_nan(u32 a, u32 b) { return is_nan32(a) || is_nan32(b) ? F32_NAN : f32_min(a, b); }
INL u32 f32_max_nan(u32 a, u32 b) { return is_nan32(a) || is_nan32(b) ? F32_NAN : f32_max(a, b); }
INL u32 xorsign32(u32 r, u32 a, u32 b) { return is_nan32(r) ? r : (r & 0x7fffffffu) | ((a ^ b) & 0x80000000u); }
INL u32 abs32(u32 a) { return a & 0x7fffffffu; }

INL u32 f32_neg(u32 a) { return is_nan32(a) ? F32_NAN : a ^ 0x80000000u; }
INL u32 f32_abs(u32 a) { return is_nan32(a) ? F32_NAN : a & 0x7fffffffu; }
INL u64 f64_neg(u64 a) { return is_nan64(a) ? quiet64(a) : a ^ 1ull << 63; }
INL u64 f64_abs(u64 a) { return is_nan64(a) ? quiet64(a) : a & ~(1ull << 63); }
INL u32 copysign32(u32 sign, u32 a) { return (a & 0x7fffffffu) | (sign & 0x80000000u); }
INL u64 copysign64(u64 sign, u64 a) { return (a & ~(1ull << 63)) | (sign & 1ull << 63); }

// Comparisons: the plain ones are false where an operand is a NaN, the ones ending in u true.
#define CMP_eq(x, y) ((x) == (y))
#define CMP_ne(x, y) ((x) < (y) || (x) > (y))
#define CMP_lt(x, y) ((x) < (y))
#define CMP_le(x, y) ((x) <= (y))
#define CMP_gt(x, y) ((x) > (y))
#define CMP_ge(x, y) ((x) >= (y))
#define CMP_equ(x, y) (!CMP_ne(x, y))
#define CMP_neu(x, y) ((x) != (y))
#define CMP_ltu(x, y) (!((x) >= (y)))
#define CMP_leu(x, y) (!((x) > (y)))
#define CMP_gtu(x, y) (!((x) <= (y)))
#define CMP_geu(x, y) (!((x) < (y)))
#define CMP_num(x, y) ((x) == (x) && (y) == (y))
#define CMP_nan(x, y) (!CMP_num(x, y))

// testp: ALL is the exponent field's ones, SHIFT where the field begins. A zero counts as normal.
#define EMU_TESTP(W, SHIFT, ALL)                                                                      \
    INL u8 testp##W##_finite(u##W a) { return (a >> SHIFT & ALL) != ALL; }                             \
    INL u8 testp##W##_infinite(u##W a) { return (u##W)(a << 1) == (u##W)((u##W)ALL << (SHIFT + 1)); }  \
    INL u8 testp##W##_number(u##W a) { return !is_nan##W(a); }                                         \
    INL u8 testp##W##_notanumber(u##W a) { return (u8)is_nan##W(a); }                                  \
    INL u8 testp##W##_subnormal(u##W a) { return (a >> SHIFT & ALL) == 0 && (u##W)(a << 1) != 0; }     \
    INL u8 testp##W##_normal(u##W a) { return testp##W##_finite(a) && !testp##W##_subnormal(a); }
EMU_TESTP(32, 23, 0xff)
EMU_TESTP(64, 52, 0x7ff)

// What atomics do: additions round to nearest; _ftz is f32 in global memory, which flushes subnormal numbers.
INL u32 atom_add_f32(u32 a, u32 b) { return f32_add_rn(a, b); }
INL u32 atom_add_f32_ftz(u32 a, u32 b) { return ftz32(f32_add_rn(ftz32(a), ftz32(b))); }
INL u64 atom_add_f64(u64 a, u64 b) { return f64_add_rn(a, b); }

#endif
