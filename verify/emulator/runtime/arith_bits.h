// Types of bits, and floats as their bits. The arithmetic headers stand alone: no Thread, no memory.
// Compile with -ffp-contract=off and without -ffast-math: one rounding where PTX has one.
#ifndef EMU_ARITH_BITS_H
#define EMU_ARITH_BITS_H
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;

#ifndef INL
#define INL static inline __attribute__((always_inline))
#endif

#define F32_NAN 0x7fffffffu
#define F64_NAN 0xfff8000000000000ull
#define F16_NAN 0x7fffu  // of bf16 too

INL float f32_of(u32 bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

INL u32 bits_of_f32(float x) {
    u32 bits;
    memcpy(&bits, &x, 4);
    return bits;
}

INL double f64_of(u64 bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

INL u64 bits_of_f64(double x) {
    u64 bits;
    memcpy(&bits, &x, 8);
    return bits;
}

// The bits of a result: a NaN of arithmetic is the canonical one.
INL u32 f32_out(float x) { return x == x ? bits_of_f32(x) : F32_NAN; }

INL u32 pair16(u16 low, u16 high) { return low | (u32)high << 16; }

#endif
