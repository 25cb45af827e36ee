// 8-bit floating point (cuda_fp8.h).
#pragma once
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
#define CUTEPORT_FP8(NAME)                                                               \
  struct NAME {                                                                          \
    __nv_fp8_storage_t __x;                                                              \
    NAME() = default;                                                                    \
    explicit NAME(float); explicit NAME(double); explicit NAME(int);                     \
    explicit NAME(__half); explicit NAME(__nv_bfloat16);                                 \
    explicit operator float() const; explicit operator double() const;                   \
    explicit operator __half() const; explicit operator __nv_bfloat16() const;           \
    explicit operator int() const; explicit operator bool() const;                       \
  };
CUTEPORT_FP8(__nv_fp8_e4m3) CUTEPORT_FP8(__nv_fp8_e5m2)
#define CUTEPORT_FP8_PACK(NAME, STORAGE, FLOATS)                                         \
  struct NAME {                                                                          \
    STORAGE __x;                                                                         \
    NAME() = default;                                                                    \
    explicit NAME(FLOATS);                                                               \
    explicit operator FLOATS() const;                                                    \
  };
CUTEPORT_FP8_PACK(__nv_fp8x2_e4m3, unsigned short, float2)
CUTEPORT_FP8_PACK(__nv_fp8x4_e4m3, unsigned, float4)
CUTEPORT_FP8_PACK(__nv_fp8x2_e5m2, unsigned short, float2)
CUTEPORT_FP8_PACK(__nv_fp8x4_e5m2, unsigned, float4)
__nv_fp8_storage_t __nv_cvt_float_to_fp8(float, __nv_saturation_t, __nv_fp8_interpretation_t);
__nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw, __nv_saturation_t, __nv_fp8_interpretation_t);
__half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t, __nv_fp8_interpretation_t);
__nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2, __nv_saturation_t, __nv_fp8_interpretation_t);
__half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t, __nv_fp8_interpretation_t);
