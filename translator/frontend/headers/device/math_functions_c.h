// <math.h>, <cmath> and CUDA's additions. As with nvcc on Linux, `f(float)` is the float function,
// an integer argument means double, and mixed arguments are promoted together.
#pragma once
template <class T, bool = __is_integral(T)> struct cuteport_if_integer {};
template <class T> struct cuteport_if_integer<T, true> { typedef double type; };
template <class A, class B, bool = __is_arithmetic(A) && __is_arithmetic(B)> struct cuteport_promote {};
template <class A, class B> struct cuteport_promote<A, B, true> { typedef double type; };

#define CUTEPORT_MATH1(NAME)                                                             \
  double NAME(double);                                                                   \
  float NAME##f(float);                                                                  \
  float NAME(float);                                                                     \
  template <class T> typename cuteport_if_integer<T>::type NAME(T);
#define CUTEPORT_MATH2(NAME)                                                             \
  double NAME(double, double);                                                           \
  float NAME##f(float, float);                                                           \
  float NAME(float, float);                                                              \
  template <class A, class B> typename cuteport_promote<A, B>::type NAME(A, B);
extern "C++" {
CUTEPORT_MATH1(sqrt) CUTEPORT_MATH1(cbrt)
CUTEPORT_MATH1(sin) CUTEPORT_MATH1(cos) CUTEPORT_MATH1(tan)
CUTEPORT_MATH1(asin) CUTEPORT_MATH1(acos) CUTEPORT_MATH1(atan)
CUTEPORT_MATH1(sinh) CUTEPORT_MATH1(cosh) CUTEPORT_MATH1(tanh)
CUTEPORT_MATH1(asinh) CUTEPORT_MATH1(acosh) CUTEPORT_MATH1(atanh)
CUTEPORT_MATH1(exp) CUTEPORT_MATH1(exp2) CUTEPORT_MATH1(expm1)
CUTEPORT_MATH1(log) CUTEPORT_MATH1(log2) CUTEPORT_MATH1(log10) CUTEPORT_MATH1(log1p) CUTEPORT_MATH1(logb)
CUTEPORT_MATH1(floor) CUTEPORT_MATH1(ceil) CUTEPORT_MATH1(round) CUTEPORT_MATH1(trunc)
CUTEPORT_MATH1(rint) CUTEPORT_MATH1(nearbyint)
CUTEPORT_MATH1(fabs) CUTEPORT_MATH1(erf) CUTEPORT_MATH1(erfc) CUTEPORT_MATH1(tgamma) CUTEPORT_MATH1(lgamma)
CUTEPORT_MATH2(pow) CUTEPORT_MATH2(fmod) CUTEPORT_MATH2(atan2) CUTEPORT_MATH2(hypot)
CUTEPORT_MATH2(fmin) CUTEPORT_MATH2(fmax) CUTEPORT_MATH2(fdim)
CUTEPORT_MATH2(copysign) CUTEPORT_MATH2(remainder) CUTEPORT_MATH2(nextafter)
double fma(double, double, double); float fmaf(float, float, float); float fma(float, float, float);
double ldexp(double, int); float ldexpf(float, int); float ldexp(float, int);
double scalbn(double, int); float scalbnf(float, int); float scalbn(float, int);
double frexp(double, int*); float frexpf(float, int*); float frexp(float, int*);
double modf(double, double*); float modff(float, float*); float modf(float, float*);
double remquo(double, double, int*); float remquof(float, float, int*);
int ilogb(double); int ilogbf(float); int ilogb(float);
long lround(double); long lroundf(float); long lround(float);
long long llround(double); long long llroundf(float); long long llround(float);
long lrint(double); long lrintf(float); long lrint(float);
long long llrint(double); long long llrintf(float); long long llrint(float);
double nan(const char*); float nanf(const char*);
int abs(int); long abs(long); long long abs(long long); float abs(float); double abs(double);
long labs(long); long long llabs(long long);
template <class T> bool isnan(T);
template <class T> bool isinf(T);
template <class T> bool isfinite(T);
template <class T> bool signbit(T);
int isnanf(float); int isinff(float);
}

#define CUTEPORT_CUDA_MATH(NAME) double NAME(double); float NAME##f(float); float NAME(float);
CUTEPORT_CUDA_MATH(rsqrt) CUTEPORT_CUDA_MATH(rcbrt) CUTEPORT_CUDA_MATH(exp10)
CUTEPORT_CUDA_MATH(sinpi) CUTEPORT_CUDA_MATH(cospi)
CUTEPORT_CUDA_MATH(erfinv) CUTEPORT_CUDA_MATH(erfcinv) CUTEPORT_CUDA_MATH(erfcx)
CUTEPORT_CUDA_MATH(normcdf) CUTEPORT_CUDA_MATH(normcdfinv)
CUTEPORT_CUDA_MATH(j0) CUTEPORT_CUDA_MATH(j1) CUTEPORT_CUDA_MATH(y0) CUTEPORT_CUDA_MATH(y1)
CUTEPORT_CUDA_MATH(cyl_bessel_i0) CUTEPORT_CUDA_MATH(cyl_bessel_i1)
double jn(int, double); float jnf(int, float); double yn(int, double); float ynf(int, float);
double norm(int, const double*); float normf(int, const float*);
double rnorm(int, const double*); float rnormf(int, const float*);
double norm3d(double, double, double); float norm3df(float, float, float);
double rnorm3d(double, double, double); float rnorm3df(float, float, float);
double norm4d(double, double, double, double); float norm4df(float, float, float, float);
double rnorm4d(double, double, double, double); float rnorm4df(float, float, float, float);
double rhypot(double, double); float rhypotf(float, float);
void sincos(double, double*, double*); void sincosf(float, float*, float*); void sincos(float, float*, float*);
void sincospi(double, double*, double*); void sincospif(float, float*, float*);
float fdividef(float, float);

// min and max: CUDA's own overloads, no others.
#define CUTEPORT_MIN_MAX(R, A, B) R min(A, B); R max(A, B);
CUTEPORT_MIN_MAX(int, int, int) CUTEPORT_MIN_MAX(unsigned, unsigned, unsigned)
CUTEPORT_MIN_MAX(unsigned, int, unsigned) CUTEPORT_MIN_MAX(unsigned, unsigned, int)
CUTEPORT_MIN_MAX(long, long, long) CUTEPORT_MIN_MAX(unsigned long, unsigned long, unsigned long)
CUTEPORT_MIN_MAX(unsigned long, long, unsigned long) CUTEPORT_MIN_MAX(unsigned long, unsigned long, long)
CUTEPORT_MIN_MAX(long long, long long, long long)
CUTEPORT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
CUTEPORT_MIN_MAX(unsigned long long, long long, unsigned long long)
CUTEPORT_MIN_MAX(unsigned long long, unsigned long long, long long)
CUTEPORT_MIN_MAX(float, float, float) CUTEPORT_MIN_MAX(double, double, double)
CUTEPORT_MIN_MAX(double, float, double) CUTEPORT_MIN_MAX(double, double, float)
unsigned umin(unsigned, unsigned); unsigned umax(unsigned, unsigned);
long long llmin(long long, long long); long long llmax(long long, long long);
unsigned long long ullmin(unsigned long long, unsigned long long);
unsigned long long ullmax(unsigned long long, unsigned long long);
