// Shifts, fields of bits and bytes, on bits.
#ifndef EMU_ARITH_LOGIC_H
#define EMU_ARITH_LOGIC_H
#include "arith_bits.h"

// Shifts by more than the width give what shifting bit by bit would.
INL u16 shl16(u16 a, u32 n) { return n > 15 ? 0 : (u16)((u32)a << n); }
INL u32 shl32(u32 a, u32 n) { return n > 31 ? 0 : a << n; }
INL u64 shl64(u64 a, u32 n) { return n > 63 ? 0 : a << n; }
INL u16 shr16(u16 a, u32 n) { return n > 15 ? 0 : (u16)(a >> n); }
INL u32 shr32(u32 a, u32 n) { return n > 31 ? 0 : a >> n; }
INL u64 shr64(u64 a, u32 n) { return n > 63 ? 0 : a >> n; }
INL u16 sar16(u16 a, u32 n) { return (u16)((s16)a >> (n > 15 ? 15 : n)); }
INL u32 sar32(u32 a, u32 n) { return (u32)((s32)a >> (n > 31 ? 31 : n)); }
INL u64 sar64(u64 a, u32 n) { return (u64)((s64)a >> (n > 63 ? 63 : n)); }

INL u32 shift_wrap(u32 n) { return n & 31; }
INL u32 shift_clamp(u32 n) { return n > 32 ? 32 : n; }
INL u32 shf_l(u32 low, u32 high, u32 n) { return (u32)((((u64)high << 32 | low) << n) >> 32); }
INL u32 shf_r(u32 low, u32 high, u32 n) { return (u32)(((u64)high << 32 | low) >> n); }

// `table` is a constant after inlining, so that only its own terms remain.
INL u32 lop3(u32 a, u32 b, u32 c, u32 table) {
    u32 r = 0;
    if (table & 0x01) r |= ~a & ~b & ~c;
    if (table & 0x02) r |= ~a & ~b & c;
    if (table & 0x04) r |= ~a & b & ~c;
    if (table & 0x08) r |= ~a & b & c;
    if (table & 0x10) r |= a & ~b & ~c;
    if (table & 0x20) r |= a & ~b & c;
    if (table & 0x40) r |= a & b & ~c;
    if (table & 0x80) r |= a & b & c;
    return r;
}

INL u32 clz32(u32 a) { return a ? (u32)__builtin_clz(a) : 32; }
INL u32 clz64(u64 a) { return a ? (u32)__builtin_clzll(a) : 64; }

// The highest bit that differs from the sign; all ones where there is none. shiftamt: the shift that brings it up.
INL u32 bfind_u32(u32 a) { return a ? 31 - clz32(a) : 0xffffffffu; }
INL u32 bfind_u64(u64 a) { return a ? 63 - clz64(a) : 0xffffffffu; }
INL u32 bfind_s32(u32 a) { return bfind_u32((s32)a < 0 ? ~a : a); }
INL u32 bfind_s64(u64 a) { return bfind_u64((s64)a < 0 ? ~a : a); }
INL u32 bfind_shiftamt_u32(u32 a) { return a ? clz32(a) : 0xffffffffu; }
INL u32 bfind_shiftamt_u64(u64 a) { return a ? clz64(a) : 0xffffffffu; }
INL u32 bfind_shiftamt_s32(u32 a) { return bfind_shiftamt_u32((s32)a < 0 ? ~a : a); }
INL u32 bfind_shiftamt_s64(u64 a) { return bfind_shiftamt_u64((s64)a < 0 ? ~a : a); }

// The n-th set bit of `mask` from `base`, upwards for n > 0, downwards for n < 0; all ones where there is none. For the
// smallest n, which has no opposite, 0.
static inline u32 fns(u32 mask, u32 base, u32 n) {
    s32 offset = (s32)n;
    if (offset == 0) return base < 32 && mask >> base & 1 ? base : 0xffffffffu;
    if (offset == INT32_MIN) return 0;
    if (base > 31) return 0xffffffffu;
    s32 step = offset > 0 ? 1 : -1, left = offset * step;
    for (s32 i = (s32)base; i >= 0 && i < 32; i += step)
        if (mask >> i & 1 && --left == 0) return (u32)i;
    return 0xffffffffu;
}

static inline u32 brev32(u32 a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}

static inline u64 brev64(u64 a) { return (u64)brev32((u32)a) << 32 | brev32((u32)(a >> 32)); }

// Position and length are their lowest eight bits where the field is of 32, all 32 bits where it is of 64. Past the top
// a signed field continues with the sign.
#define FIELD_32 0xffu
#define FIELD_64 0xffffffffu
#define EMU_FIELDS(W)                                                                                          \
    static inline u##W bfe_u##W(u##W a, u32 position, u32 length) {                                            \
        position &= FIELD_##W, length &= FIELD_##W;                                                            \
        if (position >= W || length == 0) return 0;                                                            \
        return length >= W ? a >> position : a >> position & (((u##W)1 << length) - 1);                        \
    }                                                                                                          \
    static inline u##W bfe_s##W(u##W a, u32 position, u32 length) {                                            \
        position &= FIELD_##W, length &= FIELD_##W;                                                            \
        if (length == 0) return 0;                                                                             \
        u##W field = sar##W(a, position);                                                                      \
        return length >= W ? field : (u##W)((s##W)(field << (W - length)) >> (W - length));                    \
    }                                                                                                          \
    static inline u##W bfi##W(u##W a, u##W b, u32 position, u32 length) {                                      \
        position &= FIELD_##W, length &= FIELD_##W;                                                            \
        if (position >= W || length == 0) return b;                                                            \
        u##W mask = (length >= W ? ~(u##W)0 : ((u##W)1 << length) - 1) << position;                            \
        return (a << position & mask) | (b & ~mask);                                                           \
    }
EMU_FIELDS(32)
EMU_FIELDS(64)

INL u32 ones(u32 n) { return n > 31 ? 0xffffffffu : (1u << n) - 1; }
INL u32 bmsk_clamp(u32 position, u32 length) { return shl32(ones(length), position); }
INL u32 bmsk_wrap(u32 position, u32 length) { return ones(length & 31) << (position & 31); }

INL u32 szext_clamp_u32(u32 a, u32 n) { return a & ones(n); }
INL u32 szext_wrap_u32(u32 a, u32 n) { return a & ones(n & 31); }
INL u32 szext_clamp_s32(u32 a, u32 n) { return n == 0 ? 0 : n > 31 ? a : (u32)((s32)(a << (32 - n)) >> (32 - n)); }
INL u32 szext_wrap_s32(u32 a, u32 n) { return szext_clamp_s32(a, n & 31); }

INL u32 byte_of(u64 bytes, u32 selector) {
    u32 byte = bytes >> 8 * (selector & 7) & 0xff;
    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;  // bit 3 of a selector: the byte's sign instead
}

static inline u32 prmt(u32 a, u32 b, u32 c) {
    u64 bytes = (u64)b << 32 | a;
    return byte_of(bytes, c) | byte_of(bytes, c >> 4) << 8 | byte_of(bytes, c >> 8) << 16 | byte_of(bytes, c >> 12) << 24;
}

INL u32 prmt_f4e(u32 a, u32 b, u32 c) { return (u32)(((u64)b << 32 | a) >> 8 * (c & 3)); }
INL u32 prmt_rc8(u32 a, u32 b, u32 c) {
    (void)b;
    return 0x01010101u * (a >> 8 * (c & 3) & 0xff);
}
INL u32 prmt_rc16(u32 a, u32 b, u32 c) {
    (void)b;
    return 0x00010001u * (a >> 16 * (c & 1) & 0xffff);
}
static inline u32 prmt_b4e(u32 a, u32 b, u32 c) {  // four bytes counting down, round the eight
    static const u16 order[4] = {0x5670, 0x6701, 0x7012, 0x0123};
    return prmt(a, b, order[c & 3]);
}
static inline u32 prmt_ecl(u32 a, u32 b, u32 c) {  // byte i, not below byte c
    static const u16 order[4] = {0x3210, 0x3211, 0x3222, 0x3333};
    return prmt(a, b, order[c & 3]);
}
static inline u32 prmt_ecr(u32 a, u32 b, u32 c) {  // byte i, not above byte c
    static const u16 order[4] = {0x0000, 0x1110, 0x2210, 0x3210};
    return prmt(a, b, order[c & 3]);
}

#endif
