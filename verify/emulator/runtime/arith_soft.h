// Floating point in integers: any format, any rounding, one rounding. It is used where C has no such operation
// (directed roundings, small formats); the common cases use the machine's own arithmetic.
#ifndef EMU_ARITH_SOFT_H
#define EMU_ARITH_SOFT_H
#include "arith_bits.h"

// To nearest even, to zero, down, up, to nearest with ties away.
enum { ROUND_rn, ROUND_rz, ROUND_rm, ROUND_rp, ROUND_rna };

typedef struct {
    int precision;  // bits of the significand with the hidden one
    int width;      // bits of the exponent
    u64 nan;        // the NaN of arithmetic
} Format;

static const Format FORMAT_f16 = {11, 5, F16_NAN}, FORMAT_bf16 = {8, 8, F16_NAN}, FORMAT_f32 = {24, 8, F32_NAN},
                    FORMAT_f64 = {53, 11, F64_NAN}, FORMAT_tf32 = {11, 8, 0x3ffff}, FORMAT_e5m2 = {3, 5, 0x7f},
                    FORMAT_e4m3 = {4, 4, 0x7f};

// A number: (-1)^sign * significand * 2^exponent, or infinity or NaN.
typedef struct {
    int sign, exponent;
    u64 significand;
    u8 infinite, nan;
} Number;

INL u64 soft_infinity(Format f) { return (((u64)1 << f.width) - 1) << (f.precision - 1); }
INL u64 soft_sign(Format f, int sign) { return (u64)sign << (f.precision - 1 + f.width); }

static inline Number soft_unpack(u64 bits, Format f) {
    int bias = (1 << (f.width - 1)) - 1, field = (int)(bits >> (f.precision - 1)) & ((1 << f.width) - 1);
    u64 fraction = bits & (((u64)1 << (f.precision - 1)) - 1);
    Number n = {(int)(bits >> (f.precision - 1 + f.width)) & 1, 0, fraction, 0, 0};
    if (field == (1 << f.width) - 1) {
        n.infinite = fraction == 0, n.nan = fraction != 0;
    } else {
        if (field) n.significand |= (u64)1 << (f.precision - 1);
        n.exponent = (field ? field : 1) - bias - (f.precision - 1);
    }
    return n;
}

INL int length128(u128 m) {
    u64 high = (u64)(m >> 64), low = (u64)m;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

// Shifts right; what falls off leaves its mark in the lowest bit.
INL u128 shift_jam(u128 m, int n) {
    if (n == 0) return m;
    return n > 127 ? m != 0 : m >> n | ((m << (128 - n)) != 0);
}

// The bits of significand * 2^exponent, rounded once. The significand may end in a jammed bit if it has at least two
// bits more than the format. Overflow gives infinity or the largest number, as the rounding says.
static inline u64 soft_round(int sign, u128 significand, int exponent, Format f, int mode) {
    if (significand == 0) return soft_sign(f, sign);
    int lowest = 2 - (1 << (f.width - 1)) - (f.precision - 1);  // exponent of the last bit of subnormal numbers
    int last = exponent + length128(significand) - f.precision, shift;
    if (last < lowest) last = lowest;
    shift = last - exponent;
    u128 kept = shift <= 0 ? significand << -shift : shift > 127 ? 0 : significand >> shift;
    if (shift > 0) {
        u128 rest = shift > 127 ? 1 : significand << (128 - shift);  // as a fraction of the last bit; 1: little
        u128 half = (u128)1 << 127;
        if (shift > 128) rest = 1;
        else if (shift == 128) rest = significand;
        int up = mode == ROUND_rn ? rest > half || (rest == half && (kept & 1)) : mode == ROUND_rna ? rest >= half
               : mode == ROUND_rm ? sign && rest : mode == ROUND_rp ? !sign && rest : 0;
        kept += up;
    }
    u64 bits = ((u64)(last - lowest) << (f.precision - 1)) + (u64)kept, infinity = soft_infinity(f);
    if (last - lowest >= 1 << f.width || bits >= infinity) {
        int away = mode == ROUND_rn || mode == ROUND_rna || (mode == ROUND_rm && sign) || (mode == ROUND_rp && !sign);
        bits = away ? infinity : infinity - 1;
    }
    return soft_sign(f, sign) | bits;
}

static inline u64 soft_mul(u64 a, u64 b, Format f, int mode) {
    Number x = soft_unpack(a, f), y = soft_unpack(b, f);
    int sign = x.sign ^ y.sign;
    if (x.nan || y.nan) return f.nan;
    if (x.infinite || y.infinite)
        return (x.infinite || x.significand) && (y.infinite || y.significand) ? soft_sign(f, sign) | soft_infinity(f) : f.nan;
    return soft_round(sign, (u128)x.significand * y.significand, x.exponent + y.exponent, f, mode);
}

// a * b + c. The formats have at most 53 bits, so a product has 106 and leaves room for the alignment.
static inline u64 soft_fma(u64 a, u64 b, u64 c, Format f, int mode) {
    Number x = soft_unpack(a, f), y = soft_unpack(b, f), z = soft_unpack(c, f);
    int sign = x.sign ^ y.sign;
    if (x.nan || y.nan || z.nan) return f.nan;
    if (x.infinite || y.infinite) {
        if (!(x.infinite || x.significand) || !(y.infinite || y.significand)) return f.nan;
        return z.infinite && z.sign != sign ? f.nan : soft_sign(f, sign) | soft_infinity(f);
    }
    if (z.infinite) return soft_sign(f, z.sign) | soft_infinity(f);
    u128 product = (u128)x.significand * y.significand, addend = z.significand;
    if (!product && !addend) return soft_sign(f, sign == z.sign ? sign : mode == ROUND_rm);
    if (!product) return soft_round(z.sign, addend, z.exponent, f, mode);
    int e = x.exponent + y.exponent, shift = 126 - length128(product);
    if (!addend) return soft_round(sign, product, e, f, mode);
    product <<= shift, e -= shift;
    shift = 126 - length128(addend);
    addend <<= shift;
    int ez = z.exponent - shift;
    if (e >= ez) addend = shift_jam(addend, e - ez);
    else product = shift_jam(product, ez - e), e = ez;
    if (sign == z.sign) return soft_round(sign, product + addend, e, f, mode);
    if (product == addend) return soft_sign(f, mode == ROUND_rm);
    return product > addend ? soft_round(sign, product - addend, e, f, mode)
                            : soft_round(z.sign, addend - product, e, f, mode);
}

static inline u64 soft_add(u64 a, u64 b, Format f, int mode) {
    u64 one = (((u64)1 << (f.width - 1)) - 1) << (f.precision - 1);
    return soft_fma(a, one, b, f, mode);
}

static inline u64 soft_div(u64 a, u64 b, Format f, int mode) {
    Number x = soft_unpack(a, f), y = soft_unpack(b, f);
    int sign = x.sign ^ y.sign;
    if (x.nan || y.nan || (x.infinite && y.infinite)) return f.nan;
    if (x.infinite) return soft_sign(f, sign) | soft_infinity(f);
    if (y.infinite) return soft_sign(f, sign);
    if (!y.significand) return x.significand ? soft_sign(f, sign) | soft_infinity(f) : f.nan;
    if (!x.significand) return soft_sign(f, sign);
    int up = __builtin_clzll(x.significand), down = __builtin_clzll(y.significand);
    u128 dividend = (u128)(x.significand << up) << 63;
    u64 divisor = y.significand << down;
    u128 quotient = dividend / divisor;
    quotient |= dividend % divisor != 0;
    return soft_round(sign, quotient, x.exponent - up - (y.exponent - down) - 63, f, mode);
}

static inline u64 soft_sqrt(u64 a, Format f, int mode) {
    Number x = soft_unpack(a, f);
    if (x.nan) return f.nan;
    if (!x.infinite && !x.significand) return a;
    if (x.sign) return f.nan;
    if (x.infinite) return a;
    int shift = 126 - length128(x.significand);
    if ((x.exponent - shift) & 1) shift--;
    u128 m = (u128)x.significand << shift, root = 0;
    for (u128 bit = (u128)1 << 63; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= m) root |= bit;
    root |= root * root != m;
    return soft_round(0, root, (x.exponent - shift) / 2, f, mode);
}

// A number of one format as the nearest of another, by the rounding.
static inline u64 soft_convert(u64 bits, Format from, Format to, int mode) {
    Number x = soft_unpack(bits, from);
    if (x.nan) return to.nan;
    if (x.infinite) return soft_sign(to, x.sign) | soft_infinity(to);
    return soft_round(x.sign, x.significand, x.exponent, to, mode);
}

#endif
