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

INL u32 f32_add_rn(u32 a, u32 b) { return f32_out(f32_of(a) + f32_of(b)); }
INL u32 f32_sub_rn(u32 a, u32 b) { return f32_out(f32_of(a) - f32_of(b)); }
INL u32 f32_mul_rn(u32 a, u32 b) { return f32_out(f32_of(a) * f32_of(b)); }
INL u32 f32_fma_rn(u32 a, u32 b, u32 c) { return f32_out(fmaf(f32_of(a), f32_of(b), f32_of(c))); }
INL u32 f32_div_rn(u32 a, u32 b) { return f32_out(f32_of(a) / f32_of(b)); }
INL u32 f32_rcp_rn(u32 a) { return f32_out(1.0f / f32_of(a)); }
INL u32 f32_sqrt_rn(u32 a) { return f32_out(sqrtf(f32_of(a))); }
INL u64 f64_add_rn(u64 a, u64 b) { return f64_out(f64_of(a) + f64_of(b)); }
INL u64 f64_sub_rn(u64 a, u64 b) { return f64_out(f64_of(a) - f64_of(b)); }
INL u64 f64_mul_rn(u64 a, u64 b) { return f64_out(f64_of(a) * f64_of(b)); }
INL u64 f64_fma_rn(u64 a, u64 b, u64 c) { return f64_out(fma(f64_of(a), f64_of(b), f64_of(c))); }
INL u64 f64_div_rn(u64 a, u64 b) { return f64_out(f64_of(a) / f64_of(b)); }
INL u64 f64_rcp_rn(u64 a) { return f64_out(1.0 / f64_of(a)); }
INL u64 f64_sqrt_rn(u64 a) { return f64_out(sqrt(f64_of(a))); }

#define EMU_DIRECTED(R, W, ONE)                                                                                         \
    static inline u##W f##W##_add_##R(u##W a, u##W b) { return (u##W)soft_add(a, b, FORMAT_f##W, ROUND_##R); }           \
    static inline u##W f##W##_sub_##R(u##W a, u##W b) {                                                                 \
        return (u##W)soft_add(a, b ^ (u##W)1 << (W - 1), FORMAT_f##W, ROUND_##R);                                       \
    }                                                                                                                   \
    static inline u##W f##W##_mul_##R(u##W a, u##W b) { return (u##W)soft_mul(a, b, FORMAT_f##W, ROUND_##R); }           \
    static inline u##W f##W##_fma_##R(u##W a, u##W b, u##W c) { return (u##W)soft_fma(a, b, c, FORMAT_f##W, ROUND_##R); } \
    static inline u##W f##W##_div_##R(u##W a, u##W b) { return (u##W)soft_div(a, b, FORMAT_f##W, ROUND_##R); }           \
    static inline u##W f##W##_rcp_##R(u##W a) { return (u##W)soft_div(ONE, a, FORMAT_f##W, ROUND_##R); }                 \
    static inline u##W f##W##_sqrt_##R(u##W a) { return (u##W)soft_sqrt(a, FORMAT_f##W, ROUND_##R); }
EMU_DIRECTED(rz, 32, 0x3f800000u)
EMU_DIRECTED(rm, 32, 0x3f800000u)
EMU_DIRECTED(rp, 32, 0x3f800000u)
EMU_DIRECTED(rz, 64, 0x3ff0000000000000ull)
EMU_DIRECTED(rm, 64, 0x3ff0000000000000ull)
EMU_DIRECTED(rp, 64, 0x3ff0000000000000ull)

// The smaller and the larger; -0 is below +0. Of a number and a NaN the number, or with _nan the NaN.
#define EMU_MINMAX(W, NAN_)                                                                                \
    INL u##W f##W##_min(u##W a, u##W b) {                                                                  \
        if (is_nan##W(a)) return is_nan##W(b) ? NAN_ : b;                                                  \
        if (is_nan##W(b)) return a;                                                                        \
        return f##W##_of(a) < f##W##_of(b) ? a : f##W##_of(b) < f##W##_of(a) ? b : a | b;                    \
    }                                                                                                      \
    INL u##W f##W##_max(u##W a, u##W b) {                                                                  \
        if (is_nan##W(a)) return is_nan##W(b) ? NAN_ : b;                                                  \
        if (is_nan##W(b)) return a;                                                                        \
        return f##W##_of(a) > f##W##_of(b) ? a : f##W##_of(b) > f##W##_of(a) ? b : a & b;                    \
    }                                                                                                      \
    INL u##W f##W##_min_nan(u##W a, u##W b) { return is_nan##W(a) || is_nan##W(b) ? NAN_ : f##W##_min(a, b); } \
    INL u##W f##W##_max_nan(u##W a, u##W b) { return is_nan##W(a) || is_nan##W(b) ? NAN_ : f##W##_max(a, b); } \
    INL u##W xorsign##W(u##W r, u##W a, u##W b) {                                                           \
        u##W sign = (u##W)((u##W)1 << (W - 1));                                                            \
        return is_nan##W(r) ? r : (u##W)((r & (u##W)~sign) | ((a ^ b) & sign));                              \
    }
EMU_MINMAX(32, F32_NAN)
EMU_MINMAX(64, F64_NAN)
INL u32 abs32(u32 a) { return a & 0x7fffffffu; }

INL u32 f32_neg(u32 a) { return is_nan32(a) ? F32_NAN : a ^ 0x80000000u; }
INL u32 f32_abs(u32 a) { return is_nan32(a) ? F32_NAN : a & 0x7fffffffu; }
INL u64 f64_neg(u64 a) { return a ^ 1ull << 63; }
INL u64 f64_abs(u64 a) { return a & ~(1ull << 63); }
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

// testp: `e` the exponent field shifted down, `all` its ones, `m` the fraction.
#define EMU_TESTP(W, SHIFT, ALL)                                                                      \
    INL u8 testp##W##_finite(u##W a) { return (a >> SHIFT & ALL) != ALL; }                             \
    INL u8 testp##W##_infinite(u##W a) { return (u##W)(a << 1) == (u##W)((u##W)ALL << (SHIFT + 1)); }  \
    INL u8 testp##W##_number(u##W a) { return !is_nan##W(a); }                                         \
    INL u8 testp##W##_notanumber(u##W a) { return (u8)is_nan##W(a); }                                  \
    INL u8 testp##W##_normal(u##W a) { return (a >> SHIFT & ALL) != ALL && (a >> SHIFT & ALL) != 0; }  \
    INL u8 testp##W##_subnormal(u##W a) { return (a >> SHIFT & ALL) == 0 && (u##W)(a << 1) != 0; }
EMU_TESTP(32, 23, 0xff)
EMU_TESTP(64, 52, 0x7ff)

// What atomics do: additions round to nearest; _ftz is f32 in global memory, which flushes subnormal numbers.
INL u32 atom_add_f32(u32 a, u32 b) { return f32_add_rn(a, b); }
INL u32 atom_add_f32_ftz(u32 a, u32 b) { return ftz32(f32_add_rn(ftz32(a), ftz32(b))); }
INL u64 atom_add_f64(u64 a, u64 b) { return f64_add_rn(a, b); }

#endif
