// __half and __nv_bfloat16 with their pairs, operators and functions (cuda_fp16.h, cuda_bf16.h).
#pragma once
#define CUTEPORT_HALF_TYPE(H, H2, RAW, RAW2)                                             \
  struct alignas(2) RAW { unsigned short x; };                                           \
  struct alignas(4) RAW2 { unsigned short x, y; };                                       \
  struct alignas(2) H {                                                                  \
    unsigned short __x;                                                                  \
    H() = default;                                                                       \
    H(float); H(double); H(int); H(unsigned); H(long); H(unsigned long);                 \
    H(long long); H(unsigned long long); H(short); H(unsigned short); H(const RAW&);     \
    operator float() const;                                                              \
    explicit operator bool() const; explicit operator double() const;                    \
    explicit operator signed char() const; explicit operator unsigned char() const;      \
    explicit operator char() const;                                                      \
    explicit operator short() const; explicit operator unsigned short() const;           \
    explicit operator int() const; explicit operator unsigned() const;                   \
    explicit operator long() const; explicit operator unsigned long() const;             \
    explicit operator long long() const; explicit operator unsigned long long() const;   \
    operator RAW() const;                                                                \
    H& operator=(float); H& operator=(double); H& operator=(int); H& operator=(unsigned);\
    H& operator=(long); H& operator=(unsigned long); H& operator=(long long);            \
    H& operator=(unsigned long long); H& operator=(short); H& operator=(unsigned short); \
  };                                                                                     \
  H operator+(const H&, const H&); H operator-(const H&, const H&);                      \
  H operator*(const H&, const H&); H operator/(const H&, const H&);                      \
  H operator+(const H&); H operator-(const H&);                                          \
  H& operator+=(H&, const H&); H& operator-=(H&, const H&);                              \
  H& operator*=(H&, const H&); H& operator/=(H&, const H&);                              \
  H& operator++(H&); H& operator--(H&); H operator++(H&, int); H operator--(H&, int);    \
  bool operator==(const H&, const H&); bool operator!=(const H&, const H&);              \
  bool operator<(const H&, const H&); bool operator>(const H&, const H&);                \
  bool operator<=(const H&, const H&); bool operator>=(const H&, const H&);              \
  struct alignas(4) H2 {                                                                 \
    H x, y;                                                                              \
    H2() = default;                                                                      \
    H2(const H&, const H&);                                                              \
    H2(const RAW2&);                                                                     \
  };                                                                                     \
  H2 operator+(const H2&, const H2&); H2 operator-(const H2&, const H2&);                \
  H2 operator*(const H2&, const H2&); H2 operator/(const H2&, const H2&);                \
  H2 operator+(const H2&); H2 operator-(const H2&);                                      \
  H2& operator+=(H2&, const H2&); H2& operator-=(H2&, const H2&);                        \
  H2& operator*=(H2&, const H2&); H2& operator/=(H2&, const H2&);                        \
  bool operator==(const H2&, const H2&); bool operator!=(const H2&, const H2&);          \
  bool operator<(const H2&, const H2&); bool operator>(const H2&, const H2&);            \
  bool operator<=(const H2&, const H2&); bool operator>=(const H2&, const H2&);          \
  H __hadd(H, H); H __hadd_rn(H, H); H __hadd_sat(H, H);                                 \
  H __hsub(H, H); H __hsub_rn(H, H); H __hsub_sat(H, H);                                 \
  H __hmul(H, H); H __hmul_rn(H, H); H __hmul_sat(H, H); H __hdiv(H, H);                 \
  H __hfma(H, H, H); H __hfma_relu(H, H, H); H __hfma_sat(H, H, H);                      \
  H __hneg(H); H __habs(H);                                                              \
  H __hmax(H, H); H __hmin(H, H); H __hmax_nan(H, H); H __hmin_nan(H, H);                \
  bool __heq(H, H); bool __hne(H, H); bool __hlt(H, H); bool __hle(H, H);                \
  bool __hgt(H, H); bool __hge(H, H);                                                    \
  bool __hequ(H, H); bool __hneu(H, H); bool __hltu(H, H); bool __hleu(H, H);            \
  bool __hgtu(H, H); bool __hgeu(H, H);                                                  \
  bool __hisnan(H); int __hisinf(H);                                                     \
  H hsqrt(H); H hrsqrt(H); H hrcp(H); H hexp(H); H hexp2(H); H hexp10(H);                \
  H hlog(H); H hlog2(H); H hlog10(H); H hsin(H); H hcos(H); H htanh(H);                  \
  H hfloor(H); H hceil(H); H htrunc(H); H hrint(H); H htanh_approx(H);                   \
  H2 __hadd2(H2, H2); H2 __hadd2_rn(H2, H2); H2 __hadd2_sat(H2, H2);                     \
  H2 __hsub2(H2, H2); H2 __hsub2_rn(H2, H2); H2 __hsub2_sat(H2, H2);                     \
  H2 __hmul2(H2, H2); H2 __hmul2_rn(H2, H2); H2 __hmul2_sat(H2, H2); H2 __h2div(H2, H2); \
  H2 __hfma2(H2, H2, H2); H2 __hfma2_relu(H2, H2, H2); H2 __hfma2_sat(H2, H2, H2);       \
  H2 __hcmadd(H2, H2, H2); H2 __hneg2(H2); H2 __habs2(H2);                               \
  H2 __hmax2(H2, H2); H2 __hmin2(H2, H2); H2 __hmax2_nan(H2, H2); H2 __hmin2_nan(H2, H2);\
  H2 __heq2(H2, H2); H2 __hne2(H2, H2); H2 __hlt2(H2, H2); H2 __hle2(H2, H2);            \
  H2 __hgt2(H2, H2); H2 __hge2(H2, H2); H2 __hisnan2(H2);                                \
  bool __hbeq2(H2, H2); bool __hbne2(H2, H2); bool __hblt2(H2, H2);                      \
  bool __hble2(H2, H2); bool __hbgt2(H2, H2); bool __hbge2(H2, H2);                      \
  unsigned __heq2_mask(H2, H2); unsigned __hne2_mask(H2, H2);                            \
  unsigned __hlt2_mask(H2, H2); unsigned __hgt2_mask(H2, H2);                            \
  unsigned __hle2_mask(H2, H2); unsigned __hge2_mask(H2, H2);                            \
  H2 h2sqrt(H2); H2 h2rsqrt(H2); H2 h2rcp(H2); H2 h2exp(H2); H2 h2exp2(H2);              \
  H2 h2exp10(H2); H2 h2log(H2); H2 h2log2(H2); H2 h2log10(H2); H2 h2sin(H2);             \
  H2 h2cos(H2); H2 h2tanh(H2); H2 h2floor(H2); H2 h2ceil(H2); H2 h2trunc(H2); H2 h2rint(H2);\
  float __low2float(H2); float __high2float(H2);
CUTEPORT_HALF_TYPE(__half, __half2, __half_raw, __half2_raw)
CUTEPORT_HALF_TYPE(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, __nv_bfloat162_raw)
typedef __half half, __nv_half;
typedef __half2 half2, __nv_half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

__half __float2half(float); __half __float2half_rn(float); __half __float2half_rz(float);
__half __float2half_rd(float); __half __float2half_ru(float); __half __double2half(double);
float __half2float(__half); __half make_half(float);
__half2 __float2half2_rn(float); __half2 __floats2half2_rn(float, float); __half2 __float22half2_rn(float2);
float2 __half22float2(__half2); __half2 __half2half2(__half); __half2 __halves2half2(__half, __half);
__half2 make_half2(__half, __half);
__half __low2half(__half2); __half __high2half(__half2);
__half2 __low2half2(__half2); __half2 __high2half2(__half2); __half2 __lowhigh2highlow(__half2);
__half2 __lows2half2(__half2, __half2); __half2 __highs2half2(__half2, __half2);
short __half_as_short(__half); unsigned short __half_as_ushort(__half);
__half __short_as_half(short); __half __ushort_as_half(unsigned short);
#define CUTEPORT_HALF_INT(MODE)                                                          \
  __half __int2half_##MODE(int); __half __uint2half_##MODE(unsigned);                    \
  __half __short2half_##MODE(short); __half __ushort2half_##MODE(unsigned short);        \
  __half __ll2half_##MODE(long long); __half __ull2half_##MODE(unsigned long long);      \
  int __half2int_##MODE(__half); unsigned __half2uint_##MODE(__half);                    \
  short __half2short_##MODE(__half); unsigned short __half2ushort_##MODE(__half);        \
  long long __half2ll_##MODE(__half); unsigned long long __half2ull_##MODE(__half);
CUTEPORT_HALF_INT(rn) CUTEPORT_HALF_INT(rz) CUTEPORT_HALF_INT(rd) CUTEPORT_HALF_INT(ru)
signed char __half2char_rz(__half); unsigned char __half2uchar_rz(__half);

__nv_bfloat16 __float2bfloat16(float); __nv_bfloat16 __float2bfloat16_rn(float);
__nv_bfloat16 __float2bfloat16_rz(float); __nv_bfloat16 __float2bfloat16_rd(float);
__nv_bfloat16 __float2bfloat16_ru(float); __nv_bfloat16 __double2bfloat16(double);
float __bfloat162float(__nv_bfloat16);
__nv_bfloat162 __float2bfloat162_rn(float); __nv_bfloat162 __floats2bfloat162_rn(float, float);
__nv_bfloat162 __float22bfloat162_rn(float2); float2 __bfloat1622float2(__nv_bfloat162);
__nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16);
__nv_bfloat162 __halves2bfloat162(__nv_bfloat16, __nv_bfloat16);
__nv_bfloat162 make_bfloat162(__nv_bfloat16, __nv_bfloat16);
__nv_bfloat16 __low2bfloat16(__nv_bfloat162); __nv_bfloat16 __high2bfloat16(__nv_bfloat162);
__nv_bfloat162 __low2bfloat162(__nv_bfloat162); __nv_bfloat162 __high2bfloat162(__nv_bfloat162);
__nv_bfloat162 __lowhigh2highlow(__nv_bfloat162);
__nv_bfloat162 __lows2bfloat162(__nv_bfloat162, __nv_bfloat162);
__nv_bfloat162 __highs2bfloat162(__nv_bfloat162, __nv_bfloat162);
short __bfloat16_as_short(__nv_bfloat16); unsigned short __bfloat16_as_ushort(__nv_bfloat16);
__nv_bfloat16 __short_as_bfloat16(short); __nv_bfloat16 __ushort_as_bfloat16(unsigned short);
__nv_bfloat16 __int2bfloat16_rn(int); __nv_bfloat16 __uint2bfloat16_rn(unsigned);
int __bfloat162int_rn(__nv_bfloat16); int __bfloat162int_rz(__nv_bfloat16);
unsigned __bfloat162uint_rn(__nv_bfloat16); unsigned __bfloat162uint_rz(__nv_bfloat16);

CUTEPORT_SHUFFLES(__half) CUTEPORT_SHUFFLES(__half2)
CUTEPORT_SHUFFLES(__nv_bfloat16) CUTEPORT_SHUFFLES(__nv_bfloat162)
