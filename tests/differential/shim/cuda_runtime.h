// What CUDA device code needs to be ordinary C++ on the host, one thread at a time.
#pragma once
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __CUDACC__ 1

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

#define CUDA_VECTORS(T, N, A)                                            \
    struct alignas(sizeof(T)) N##1 { T x; };                             \
    struct alignas(2 * sizeof(T)) N##2 { T x, y; };                      \
    struct N##4;                                                         \
    inline N##1 make_##N##1(T x) { return {x}; }                         \
    inline N##2 make_##N##2(T x, T y) { return {x, y}; }                 \
    struct alignas(A) N##4 { T x, y, z, w; };                            \
    inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define CUDA_VECTOR3(T, N) struct N##3 { T x, y, z; }; inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }
typedef unsigned char uchar_;
typedef unsigned short ushort_;
typedef unsigned int uint_;
CUDA_VECTORS(signed char, char, 4)
CUDA_VECTORS(uchar_, uchar, 4)
CUDA_VECTORS(short, short, 8)
CUDA_VECTORS(ushort_, ushort, 8)
CUDA_VECTORS(int, int, 16)
CUDA_VECTORS(uint_, uint, 16)
CUDA_VECTORS(float, float, 16)
CUDA_VECTORS(double, double, 16)
CUDA_VECTORS(long long, longlong, 16)
CUDA_VECTOR3(signed char, char)
CUDA_VECTOR3(uchar_, uchar)
CUDA_VECTOR3(int, int)
CUDA_VECTOR3(float, float)
CUDA_VECTOR3(double, double)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// min and max as CUDA overloads them
#define CUDA_MINMAX(T, A, B)                       \
    inline T min(A a, B b) { return (T)b < (T)a ? b : a; } \
    inline T max(A a, B b) { return (T)a < (T)b ? b : a; }
#define CUDA_MINMAX1(T) CUDA_MINMAX(T, T, T)
CUDA_MINMAX1(int)
CUDA_MINMAX1(unsigned)
CUDA_MINMAX1(long)
CUDA_MINMAX1(unsigned long)
CUDA_MINMAX1(long long)
CUDA_MINMAX1(unsigned long long)
CUDA_MINMAX(unsigned, int, unsigned)
CUDA_MINMAX(unsigned, unsigned, int)
CUDA_MINMAX(unsigned long long, long long, unsigned long long)
CUDA_MINMAX(unsigned long long, unsigned long long, long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }
inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }

// loads and stores with cache hints
template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> T __ldca(const T *p) { return *p; }
template <class T> void __stcs(T *p, T v) { *p = v; }
template <class T> void __stcg(T *p, T v) { *p = v; }
template <class T> void __stwt(T *p, T v) { *p = v; }
inline void __threadfence() {}
inline void __threadfence_block() {}

// bits
template <class To, class From> To bits_as(From v) { To r; static_assert(sizeof r == sizeof v); memcpy(&r, &v, sizeof r); return r; }
inline int __float_as_int(float v) { return bits_as<int>(v); }
inline unsigned __float_as_uint(float v) { return bits_as<unsigned>(v); }
inline float __int_as_float(int v) { return bits_as<float>(v); }
inline float __uint_as_float(unsigned v) { return bits_as<float>(v); }
inline long long __double_as_longlong(double v) { return bits_as<long long>(v); }
inline double __longlong_as_double(long long v) { return bits_as<double>(v); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) { unsigned r = 0; for (int k = 0; k < 32; k++) r |= (v >> k & 1u) << (31 - k); return r; }
inline unsigned long long __brevll(unsigned long long v) { return (unsigned long long)__brev(v) << 32 | __brev(v >> 32); }
inline int __mulhi(int a, int b) { return (long long)a * b >> 32; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
inline int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
inline unsigned __sad(int a, int b, unsigned c) { return c + (a < b ? (unsigned)b - a : (unsigned)a - b); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) { return (((unsigned long long)hi << 32 | lo) << (s & 31)) >> 32; }
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) { return ((unsigned long long)hi << 32 | lo) >> (s & 31); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int k = 0; k < 4; k++) r |= (unsigned)(both >> (s >> 4 * k & 7) * 8 & 255) << 8 * k;
    return r;
}

// conversions in a stated direction
inline int __float2int_rn(float v) { return (int)rintf(v); }
inline int __float2int_rz(float v) { return (int)v; }
inline int __float2int_ru(float v) { return (int)ceilf(v); }
inline int __float2int_rd(float v) { return (int)floorf(v); }
inline unsigned __float2uint_rn(float v) { return (unsigned)rintf(v); }
inline unsigned __float2uint_rz(float v) { return (unsigned)v; }
inline float __int2float_rn(int v) { return (float)v; }
inline float __uint2float_rn(unsigned v) { return (float)v; }
inline int __double2int_rz(double v) { return (int)v; }
inline float __double2float_rn(double v) { return (float)v; }
inline float __saturatef(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float rsqrtf(float a) { return (float)(1.0 / sqrt((double)a)); }
inline double rsqrt(double a) { return 1.0 / sqrt(a); }
