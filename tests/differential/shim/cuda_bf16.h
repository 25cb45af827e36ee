// bfloat16 as CUDA has it: each operation in float, rounded to nearest even once.
#pragma once
#include "cuda_runtime.h"

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float v)
    {
        unsigned u = bits_as<unsigned>(v);
        bits = v != v ? 0x7fff : (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
    }
    operator float() const { return bits_as<float>((unsigned)bits << 16); }
};
struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
#define BF16_OP(op) inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16((float)a op (float)b); }
BF16_OP(+) BF16_OP(-) BF16_OP(*) BF16_OP(/)
inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
inline float __bfloat162float(__nv_bfloat16 v) { return v; }
inline bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a < (float)b; }
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
