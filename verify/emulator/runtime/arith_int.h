// Integer arithmetic, on bits. Where PTX leaves a result open (division by zero) this is what the hardware gives.
#ifndef EMU_ARITH_INT_H
#define EMU_ARITH_INT_H
#include "arith_bits.h"

enum { S_u32 = 0, S_s32 = 1, H_lo = 0, H_hi = 1 };

INL u32 sat_s32(s64 x) { return x > INT32_MAX ? 0x7fffffffu : x < INT32_MIN ? 0x80000000u : (u32)x; }

INL u32 add_carry32(u32 a, u32 b, u32 carry, u32 *out) {
    u64 sum = (u64)a + b + carry;
    *out = (u32)(sum >> 32);
    return (u32)sum;
}

INL u64 add_carry64(u64 a, u64 b, u32 carry, u32 *out) {
    u128 sum = (u128)a + b + carry;
    *out = (u32)(sum >> 64);
    return (u64)sum;
}

INL u32 sub_borrow32(u32 a, u32 b, u32 borrow, u32 *out) {
    u64 difference = (u64)a - b - borrow;
    *out = (u32)(difference >> 32) & 1;
    return (u32)difference;
}

INL u64 sub_borrow64(u64 a, u64 b, u32 borrow, u32 *out) {
    u128 difference = (u128)a - b - borrow;
    *out = (u32)(difference >> 64) & 1;
    return (u64)difference;
}

INL s64 signed24(u32 a) { return (s32)(a << 8) >> 8; }
INL u32 mul24_lo_u32(u32 a, u32 b) { return (u32)((u64)(a & 0xffffff) * (b & 0xffffff)); }
INL u32 mul24_hi_u32(u32 a, u32 b) { return (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 16); }
INL u32 mul24_lo_s32(u32 a, u32 b) { return (u32)(signed24(a) * signed24(b)); }
INL u32 mul24_hi_s32(u32 a, u32 b) { return (u32)(signed24(a) * signed24(b) >> 16); }

// Division by zero: quotient and remainder are all ones. The smallest integer by -1 wraps.
#define EMU_DIVISION(W)                                                                   \
    INL u##W div_u##W(u##W a, u##W b) { return b ? (u##W)(a / b) : (u##W)-1; }             \
    INL u##W rem_u##W(u##W a, u##W b) { return b ? (u##W)(a % b) : (u##W)-1; }             \
    INL u##W div_s##W(u##W a, u##W b) {                                                   \
        if (b == 0) return (u##W)-1;                                                      \
        return b == (u##W)-1 ? (u##W)(0 - a) : (u##W)((s##W)a / (s##W)b);                  \
    }                                                                                     \
    INL u##W rem_s##W(u##W a, u##W b) {                                                   \
        if (b == 0) return (u##W)-1;                                                      \
        return b == (u##W)-1 ? (u##W)0 : (u##W)((s##W)a % (s##W)b);                        \
    }
EMU_DIVISION(16)
EMU_DIVISION(32)
EMU_DIVISION(64)

INL u32 relu_s32(u32 a) { return (s32)a < 0 ? 0 : a; }
INL u16 min_s16(u16 a, u16 b) { return (s16)a < (s16)b ? a : b; }
INL u16 max_s16(u16 a, u16 b) { return (s16)a > (s16)b ? a : b; }
INL u16 min_u16(u16 a, u16 b) { return a < b ? a : b; }
INL u16 max_u16(u16 a, u16 b) { return a > b ? a : b; }
INL u16 min_s16_relu(u16 a, u16 b) { return (s16)min_s16(a, b) < 0 ? 0 : min_s16(a, b); }
INL u16 max_s16_relu(u16 a, u16 b) { return (s16)max_s16(a, b) < 0 ? 0 : max_s16(a, b); }

static inline u32 dp4a(u32 a, u32 b, u32 c, int a_signed, int b_signed) {
    for (int i = 0; i < 32; i += 8) {
        s32 x = a_signed ? (s8)(a >> i) : (u8)(a >> i), y = b_signed ? (s8)(b >> i) : (u8)(b >> i);
        c += (u32)(x * y);
    }
    return c;
}

// `b` holds the two bytes to use in its lower half.
static inline u32 dp2a(u32 a, u32 b, u32 c, int a_signed, int b_signed) {
    for (int i = 0; i < 2; i++) {
        s32 x = a_signed ? (s16)(a >> 16 * i) : (u16)(a >> 16 * i), y = b_signed ? (s8)(b >> 8 * i) : (u8)(b >> 8 * i);
        c += (u32)(x * y);
    }
    return c;
}

#endif
