// Fast, directed-rounding, conversion and bit-cast intrinsics.
#pragma once
float __expf(float); float __exp10f(float); float __logf(float); float __log2f(float); float __log10f(float);
float __sinf(float); float __cosf(float); float __tanf(float); float __tanhf(float);
float __powf(float, float); void __sincosf(float, float*, float*);
float __fdividef(float, float); float __saturatef(float); float __frsqrt_rn(float);

#define CUTEPORT_ROUNDED(MODE)                                                           \
  float __fadd_##MODE(float, float); float __fsub_##MODE(float, float);                  \
  float __fmul_##MODE(float, float); float __fdiv_##MODE(float, float);                  \
  float __fmaf_##MODE(float, float, float);                                              \
  float __frcp_##MODE(float); float __fsqrt_##MODE(float);                               \
  double __dadd_##MODE(double, double); double __dsub_##MODE(double, double);            \
  double __dmul_##MODE(double, double); double __ddiv_##MODE(double, double);            \
  double __fma_##MODE(double, double, double);                                           \
  double __drcp_##MODE(double); double __dsqrt_##MODE(double);                           \
  int __float2int_##MODE(float); unsigned __float2uint_##MODE(float);                    \
  long long __float2ll_##MODE(float); unsigned long long __float2ull_##MODE(float);      \
  float __int2float_##MODE(int); float __uint2float_##MODE(unsigned);                    \
  float __ll2float_##MODE(long long); float __ull2float_##MODE(unsigned long long);      \
  int __double2int_##MODE(double); unsigned __double2uint_##MODE(double);                \
  long long __double2ll_##MODE(double); unsigned long long __double2ull_##MODE(double);  \
  float __double2float_##MODE(double);                                                   \
  double __ll2double_##MODE(long long); double __ull2double_##MODE(unsigned long long);
CUTEPORT_ROUNDED(rn) CUTEPORT_ROUNDED(rz) CUTEPORT_ROUNDED(ru) CUTEPORT_ROUNDED(rd)
double __int2double_rn(int); double __uint2double_rn(unsigned);

int __float_as_int(float); unsigned __float_as_uint(float);
float __int_as_float(int); float __uint_as_float(unsigned);
long long __double_as_longlong(double); double __longlong_as_double(long long);
int __double2hiint(double); int __double2loint(double); double __hiloint2double(int, int);
