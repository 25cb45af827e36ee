// Conversions, on bits.
#ifndef EMU_ARITH_CVT_H
#define EMU_ARITH_CVT_H
#include "arith_half.h"

// Integers clamped to a narrower type.
#define EMU_CLAMP(T, LOW, HIGH) \
    INL T clamp_##T(s128 x) { return x < (s128)(LOW) ? (T)(LOW) : x > (s128)(HIGH) ? (T)(HIGH) : (T)x; }
EMU_CLAMP(u8, 0, 0xff)
EMU_CLAMP(s8, -0x80, 0x7f)
EMU_CLAMP(u16, 0, 0xffff)
EMU_CLAMP(s16, -0x8000, 0x7fff)
EMU_CLAMP(u32, 0, 0xffffffffu)
EMU_CLAMP(s32, INT32_MIN, INT32_MAX)
EMU_CLAMP(u64, 0, UINT64_MAX)
EMU_CLAMP(s64, INT64_MIN, INT64_MAX)

// Floats to integers: the caller rounds, except to zero, which the cast does. Out of range clamps. A NaN gives 0, but
// with f64 or 64 bits on either side the highest bit alone (`nan`).
INL double round_rni(double x) { return nearbyint(x); }
INL double round_rzi(double x) { return x; }
INL double round_rmi(double x) { return floor(x); }
INL double round_rpi(double x) { return ceil(x); }

#define EMU_TO_INT(T, BITS, BELOW, ABOVE, LOW, HIGH)                                                       \
    INL T to_##T(double x, int wide) {                                                                     \
        if (x != x) return wide ? (T)((u64)1 << (BITS - 1)) : 0;                                           \
        return x <= BELOW ? (T)(LOW) : x >= ABOVE ? (T)(HIGH) : (T)x;                                      \
    }
EMU_TO_INT(u8, 8, -1.0, 0x1p8, 0, 0xff)
EMU_TO_INT(s8, 8, -129.0, 0x1p7, -0x80, 0x7f)
EMU_TO_INT(u16, 16, -1.0, 0x1p16, 0, 0xffff)
EMU_TO_INT(s16, 16, -32769.0, 0x1p15, -0x8000, 0x7fff)
EMU_TO_INT(u32, 32, -1.0, 0x1p32, 0, 0xffffffffu)
EMU_TO_INT(s32, 32, -2147483649.0, 0x1p31, INT32_MIN, INT32_MAX)
EMU_TO_INT(u64, 64, -1.0, 0x1p64, 0, UINT64_MAX)
EMU_TO_INT(s64, 64, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX)

enum { WIDE_u8, WIDE_s8 = 0, WIDE_u16 = 0, WIDE_s16 = 0, WIDE_u32 = 0, WIDE_s32 = 0, WIDE_u64 = 1, WIDE_s64 = 1 };

// Integers to floats, by any rounding.
static inline u64 soft_integer(s128 x, Format f, int mode) {
    return soft_round(x < 0, x < 0 ? (u128)-x : (u128)x, 0, f, mode);
}

// Floats to whole numbers in their own type.
INL u32 f32_round_rni(u32 a) { return f32_out(nearbyintf(f32_of(a))); }
INL u32 f32_round_rzi(u32 a) { return f32_out(truncf(f32_of(a))); }
INL u32 f32_round_rmi(u32 a) { return f32_out(floorf(f32_of(a))); }
INL u32 f32_round_rpi(u32 a) { return f32_out(ceilf(f32_of(a))); }
INL u64 f64_round_rni(u64 a) { return f64_passing(nearbyint(f64_of(a)), a, a, a); }
INL u64 f64_round_rzi(u64 a) { return f64_passing(trunc(f64_of(a)), a, a, a); }
INL u64 f64_round_rmi(u64 a) { return f64_passing(floor(f64_of(a)), a, a, a); }
INL u64 f64_round_rpi(u64 a) { return f64_passing(ceil(f64_of(a)), a, a, a); }

INL u32 f32_from_f16(u16 a) { return f32_out(f16_of(a)); }
INL u32 f32_from_bf16(u16 a) { return (u32)a << 16; }
INL u16 f16_copy(u16 a) { return is_nan16(a) ? F16_NAN : a; }
INL u32 f32_copy_ftz(u32 a) { return is_nan32(a) ? F32_NAN : ftz32(a); }

// To and from f64 a NaN keeps its sign and as much of its payload, from the top, as fits; it becomes quiet.
INL u64 f64_of_nan(u64 a, Format from) {
    u64 fraction = a & (((u64)1 << (from.precision - 1)) - 1), sign = a >> (from.precision - 1 + from.width) & 1;
    return quiet64(sign << 63 | 0x7ffull << 52 | fraction << (53 - from.precision));
}
INL u64 nan_of_f64(u64 a, Format to) {
    return soft_sign(to, a >> 63) | soft_infinity(to) | (quiet64(a) & ((1ull << 52) - 1)) >> (53 - to.precision);
}
INL u64 f64_from_f32(u32 a) { return is_nan32(a) ? f64_of_nan(a, FORMAT_f32) : bits_of_f64((double)f32_of(a)); }
INL u64 f64_from_f16(u16 a) { return is_nan16(a) ? f64_of_nan(a, FORMAT_f16) : bits_of_f64((double)f16_of(a)); }
INL u64 f64_from_bf16(u16 a) { return f64_from_f32((u32)a << 16); }
static inline u64 narrow_f64(u64 a, Format to, int mode) {
    return is_nan64(a) ? nan_of_f64(a, to) : soft_convert(a, FORMAT_f64, to, mode);
}
INL u32 f32_from_f64(u64 a, int mode) {
    if (mode != ROUND_rn || is_nan64(a)) return (u32)narrow_f64(a, FORMAT_f32, mode);
    return bits_of_f32((float)f64_of(a));
}
static inline u32 f32_from_f64_ftz(u64 a, int mode) {
    u32 r = f32_from_f64(a, mode);
    return is_smallest32(r) ? flushed32(r, f32_from_f64(a + (24ull << 52), mode)) : ftz32(r);
}

// .satfinite: overflow and infinity give the largest number; a NaN stays one.
static inline u64 satfinite(u64 a, Format f) {
    u64 infinity = soft_infinity(f), sign = soft_sign(f, 1);
    return (a & (sign - 1)) == infinity ? (a & sign) | (infinity - 1) : a;
}

INL u16 finite_f16(u16 a) { return (u16)satfinite(a, FORMAT_f16); }
INL u16 finite_bf16(u16 a) { return (u16)satfinite(a, FORMAT_bf16); }
INL u32 finite_tf32(u32 a) { return (a & 0x7fffffffu) == 0x7f800000u ? a - 0x2000 : a; }

// tf32 is an f32 whose 13 last bits are zero; its NaN too.
static inline u32 tf32_from_f32(u32 a, int mode) {
    return (u32)(is_nan32(a) ? FORMAT_tf32.nan : soft_convert(a, FORMAT_f32, FORMAT_tf32, mode)) << 13;
}

// .rna is integer arithmetic that knows no NaN: where the exponent is all ones the last bits are cut, and .satfinite
// steps down by one. So a NaN with a small payload becomes infinity, and with .satfinite a number.
INL u32 tf32_rna(u32 a) { return (~a & 0x7f800000u ? a + 0x1000 : a) & ~0x1fffu; }
INL u32 tf32_rna_satfinite(u32 a) {
    a = tf32_rna(a);
    return ~a & 0x7f800000u ? a : a - 0x2000;
}
INL u32 tf32_relu(u32 a) { return a & 0x80000000u ? 0 : a; }

// e4m3 has no infinity: all codes but the last are numbers, and .satfinite clamps to 448.
static inline u8 e4m3_from_f32(u32 a) {
    Number x = soft_unpack(a, FORMAT_f32);
    if (x.nan) return 0x7f;
    u8 sign = (u8)(x.sign << 7);
    if (x.infinite || f32_of(a & 0x7fffffffu) >= 448.0f) return sign | 0x7e;
    Format wide = {4, 5, 0};  // one more bit of exponent, so that 256 to 448 are ordinary numbers
    // Scaled by 2^-8: the bias of five bits is 15, that of four bits 7.
    return sign | (u8)soft_round(0, x.significand, x.exponent - 8, wide, ROUND_rn);
}

static inline u8 e5m2_from_f32(u32 a) { return (u8)satfinite(soft_convert(a, FORMAT_f32, FORMAT_e5m2, ROUND_rn), FORMAT_e5m2); }

INL u16 f16_from_e4m3(u8 a) {
    if ((a & 0x7f) == 0x7f) return F16_NAN;
    Number x = {0, 0, a & 7, 0, 0};
    int field = a >> 3 & 15;
    x.exponent = (field ? field : 1) - 10;
    if (field) x.significand |= 8;
    return (u16)soft_round(a >> 7, x.significand, x.exponent, FORMAT_f16, ROUND_rn);
}

INL u16 f16_from_e5m2(u8 a) { return (a & 0x7f) > 0x7c ? F16_NAN : (u16)(a << 8); }

INL u8 fp8_relu(u8 a) { return a == 0x7f || !(a & 0x80) ? a : 0; }

// cvt.pack: a and b clamped to narrow integers, a above b, above what of c fits.
INL u32 pack16(u32 a, u32 b) { return a << 16 | (b & 0xffff); }
INL u32 pack_narrow(u32 a, u32 b, u32 c, int bits) {
    u32 mask = (1u << bits) - 1;
    return c << 2 * bits | (a & mask) << bits | (b & mask);
}
INL u32 clamp_bits(s32 x, int bits, int is_signed) {
    s32 low = is_signed ? -(1 << (bits - 1)) : 0, high = (1 << (is_signed ? bits - 1 : bits)) - 1;
    return (u32)(x < low ? low : x > high ? high : x);
}

#endif
