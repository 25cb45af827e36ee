// f16 and bf16 on bits, each operation rounded once.
// Why one rounding: sums and products of f16 are rounded to f32 at most once before, and 24 bits are at least
// 2 * 11 + 2, where rounding twice is harmless; the same holds for sums of bf16. Products of bf16 can be subnormal
// in f32, and a fused multiply-add has no such bound: these go through rounding to odd, after which a further
// rounding to at least two bits less is right.
#ifndef EMU_ARITH_HALF_H
#define EMU_ARITH_HALF_H
#include "arith_float.h"

INL float f16_of(u16 a) {
    u32 sign = (u32)(a & 0x8000) << 16, rest = a & 0x7fff;
    if (rest >= 0x7c00) return f32_of(sign | 0x7f800000u | rest << 13);
    return f32_of(sign | bits_of_f32(f32_of(rest << 13) * 0x1p112f));
}

INL float bf16_of(u16 a) { return f32_of((u32)a << 16); }

static inline u16 f16_from_f32(u32 a) {
    u32 sign = a >> 16 & 0x8000, rest = a & 0x7fffffffu;
    if (rest > 0x7f800000u) return F16_NAN;
    if (rest >= 0x47800000u) return (u16)(sign | 0x7c00);
    if (rest >= 0x38800000u) return (u16)(sign | (rest - 0x38000000u + 0xfff + (rest >> 13 & 1)) >> 13);
    // Below 2^-14 the last place of a half is that of 0.5f: the addition rounds.
    return (u16)(sign | (bits_of_f32(f32_of(rest) + 0.5f) - 0x3f000000u));
}

INL u16 bf16_from_f32(u32 a) { return is_nan32(a) ? F16_NAN : (u16)((a + 0x7fff + (a >> 16 & 1)) >> 16); }

// To f32, rounded to odd: an inexact result is the neighbour whose last bit is set.
static inline u32 f32_odd(double x) {
    float near = (float)x;
    u32 bits = bits_of_f32(near);
    if ((double)near == x || x != x || bits & 1) return bits;
    return fabs((double)near) < fabs(x) ? bits + 1 : bits - 1;
}

// a + b of doubles, rounded to odd.
static inline double sum_odd(double a, double b) {
    double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    u64 bits = bits_of_f64(sum);
    if (!(error < 0 || error > 0) || bits & 1) return sum;  // exact; infinite or NaN, where error is NaN; odd already
    return f64_of((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

INL u16 f16_add(u16 a, u16 b) { return f16_from_f32(bits_of_f32(f16_of(a) + f16_of(b))); }
INL u16 f16_sub(u16 a, u16 b) { return f16_from_f32(bits_of_f32(f16_of(a) - f16_of(b))); }
// .ftz: as for f32 (arith_float.h). To less than 2^-14 rounds what is below it by more than a quarter of its last place.
INL u16 ftz16(u16 a) { return a & 0x7c00 ? a : a & 0x8000; }
INL u16 f16_from_f32_ftz(u32 a) { return (a & 0x7fffffffu) < 0x387ff000u ? a >> 16 & 0x8000 : f16_from_f32(a); }

INL u16 f16_mul(u16 a, u16 b) { return f16_from_f32(bits_of_f32(f16_of(a) * f16_of(b))); }
INL u16 f16_mul_ftz(u16 a, u16 b) { return f16_from_f32_ftz(bits_of_f32(f16_of(ftz16(a)) * f16_of(ftz16(b)))); }
INL u16 bf16_add(u16 a, u16 b) { return bf16_from_f32(bits_of_f32(bf16_of(a) + bf16_of(b))); }
INL u16 bf16_sub(u16 a, u16 b) { return bf16_from_f32(bits_of_f32(bf16_of(a) - bf16_of(b))); }
INL u16 bf16_mul(u16 a, u16 b) { return bf16_from_f32(f32_odd((double)bf16_of(a) * bf16_of(b))); }

static inline u16 f16_fma(u16 a, u16 b, u16 c) {
    return f16_from_f32(f32_odd(sum_odd((double)f16_of(a) * f16_of(b), f16_of(c))));
}
static inline u16 f16_fma_ftz(u16 a, u16 b, u16 c) {
    return f16_from_f32_ftz(f32_odd(sum_odd((double)f16_of(ftz16(a)) * f16_of(ftz16(b)), f16_of(ftz16(c)))));
}
static inline u16 bf16_fma(u16 a, u16 b, u16 c) {
    return bf16_from_f32(f32_odd(sum_odd((double)bf16_of(a) * bf16_of(b), bf16_of(c))));
}

INL int is_nan16(u16 a) { return (a & 0x7fff) > 0x7c00; }
INL int is_nan_bf16(u16 a) { return (a & 0x7fff) > 0x7f80; }
INL u16 sat16(u16 a) { return a & 0x8000 || is_nan16(a) ? 0 : a > 0x3c00 ? 0x3c00 : a; }
INL u16 bf16_sat(u16 a) { return a & 0x8000 || is_nan_bf16(a) ? 0 : a > 0x3f80 ? 0x3f80 : a; }
INL u16 f16_relu(u16 a) { return is_nan16(a) ? F16_NAN : a & 0x8000 ? 0 : a; }
INL u16 bf16_relu(u16 a) { return is_nan_bf16(a) ? F16_NAN : a & 0x8000 ? 0 : a; }
INL u16 f16_neg(u16 a) { return is_nan16(a) ? F16_NAN : a ^ 0x8000; }
INL u16 f16_abs(u16 a) { return is_nan16(a) ? F16_NAN : a & 0x7fff; }
INL u16 bf16_neg(u16 a) { return is_nan_bf16(a) ? F16_NAN : a ^ 0x8000; }
INL u16 bf16_abs(u16 a) { return is_nan_bf16(a) ? F16_NAN : a & 0x7fff; }
INL u16 abs16(u16 a) { return a & 0x7fff; }

#define EMU_MINMAX16(T, IS_NAN)                                                                          \
    INL u16 T##_min(u16 a, u16 b) {                                                                      \
        if (IS_NAN(a)) return IS_NAN(b) ? F16_NAN : b;                                                   \
        if (IS_NAN(b)) return a;                                                                         \
        return T##_of(a) < T##_of(b) ? a : T##_of(b) < T##_of(a) ? b : a | b;                              \
    }                                                                                                    \
    INL u16 T##_max(u16 a, u16 b) {                                                                      \
        if (IS_NAN(a)) return IS_NAN(b) ? F16_NAN : b;                                                   \
        if (IS_NAN(b)) return a;                                                                         \
        return T##_of(a) > T##_of(b) ? a : T##_of(b) > T##_of(a) ? b : a & b;                              \
    }                                                                                                    \
    INL u16 T##_min_nan(u16 a, u16 b) { return IS_NAN(a) || IS_NAN(b) ? F16_NAN : T##_min(a, b); }         \
    INL u16 T##_max_nan(u16 a, u16 b) { return IS_NAN(a) || IS_NAN(b) ? F16_NAN : T##_max(a, b); }         \
    INL u16 T##_xorsign(u16 r, u16 a, u16 b) { return IS_NAN(r) ? r : (r & 0x7fff) | ((a ^ b) & 0x8000); } \
    INL u32 atom_add_##T##x2(u32 a, u32 b) { return pair16(T##_add(a, b), T##_add(a >> 16, b >> 16)); }    \
    INL u32 atom_min_##T##x2(u32 a, u32 b) { return pair16(T##_min(a, b), T##_min(a >> 16, b >> 16)); }    \
    INL u32 atom_max_##T##x2(u32 a, u32 b) { return pair16(T##_max(a, b), T##_max(a >> 16, b >> 16)); }    \
    INL u16 atom_add_##T(u16 a, u16 b) { return T##_add(a, b); }                                           \
    INL u16 atom_min_##T(u16 a, u16 b) { return T##_min(a, b); }                                           \
    INL u16 atom_max_##T(u16 a, u16 b) { return T##_max(a, b); }
EMU_MINMAX16(f16, is_nan16)
EMU_MINMAX16(bf16, is_nan_bf16)

#endif
