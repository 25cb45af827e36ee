// half as CUDA has it: each operation in float, rounded once.
#pragma once
#include "cuda_runtime.h"

struct __half {
    unsigned short bits;
    __half() = default;
    __half(float v) { _Float16 h = (_Float16)v; memcpy(&bits, &h, 2); }
    explicit __half(double v) { _Float16 h = (_Float16)v; memcpy(&bits, &h, 2); }
    explicit __half(int v) : __half((float)v) {}
    operator float() const { _Float16 h; memcpy(&h, &bits, 2); return (float)h; }
};
typedef __half half;
struct alignas(4) __half2 { __half x, y; };
typedef __half2 half2;
#define HALF_OP(op)                                                                                   \
    inline __half operator op(__half a, __half b) { return __half((float)a op (float)b); }            \
    inline __half2 operator op(__half2 a, __half2 b) { return {a.x op b.x, a.y op b.y}; }             \
    inline __half &operator op##=(__half &a, __half b) { return a = a op b; }
HALF_OP(+) HALF_OP(-) HALF_OP(*) HALF_OP(/)
#define HALF_CMP(op) inline bool operator op(__half a, __half b) { return (float)a op (float)b; }
HALF_CMP(<) HALF_CMP(>) HALF_CMP(<=) HALF_CMP(>=) HALF_CMP(==) HALF_CMP(!=)
inline __half operator-(__half a) { return __half(-(float)a); }
inline __half __float2half(float v) { return __half(v); }
inline __half __float2half_rn(float v) { return __half(v); }
inline float __half2float(__half v) { return v; }
inline __half __hadd(__half a, __half b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half __hfma(__half a, __half b, __half c) { return __half(fma((double)(float)a, (double)(float)b, (double)(float)c)); }
inline bool __hlt(__half a, __half b) { return a < b; }
inline bool __hgt(__half a, __half b) { return a > b; }
inline bool __hle(__half a, __half b) { return a <= b; }
inline __half __hmax(__half a, __half b) { return __half(fmaxf(a, b)); }
inline __half __hmin(__half a, __half b) { return __half(fminf(a, b)); }
inline __half2 __hadd2(__half2 a, __half2 b) { return a + b; }
inline __half2 __hmul2(__half2 a, __half2 b) { return a * b; }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
