// cuComplex.h: functions are defined there in terms of ordinary arithmetic, so they are here too.
#pragma once
typedef float2 cuFloatComplex, cuComplex;
typedef double2 cuDoubleComplex;
#define CUTEPORT_COMPLEX(C, T, F, MAKE, ABS)                                             \
  inline C MAKE(T re, T im) { C z; z.x = re; z.y = im; return z; }                       \
  inline T cuCreal##F(C z) { return z.x; }                                               \
  inline T cuCimag##F(C z) { return z.y; }                                               \
  inline C cuConj##F(C z) { return MAKE(z.x, -z.y); }                                    \
  inline C cuCadd##F(C a, C b) { return MAKE(a.x + b.x, a.y + b.y); }                    \
  inline C cuCsub##F(C a, C b) { return MAKE(a.x - b.x, a.y - b.y); }                    \
  inline C cuCmul##F(C a, C b) {                                                         \
    return MAKE((a.x * b.x) - (a.y * b.y), (a.x * b.y) + (a.y * b.x));                   \
  }                                                                                      \
  inline C cuCdiv##F(C a, C b) {                                                         \
    T s = (ABS(b.x)) + (ABS(b.y));                                                       \
    T oos = T(1) / s;                                                                    \
    T ars = a.x * oos, ais = a.y * oos, brs = b.x * oos, bis = b.y * oos;                \
    s = (brs * brs) + (bis * bis);                                                       \
    oos = T(1) / s;                                                                      \
    return MAKE(((ars * brs) + (ais * bis)) * oos, ((ais * brs) - (ars * bis)) * oos);   \
  }                                                                                      \
  T cuCabs##F(C);                                                                        \
  C cuCfma##F(C, C, C);
CUTEPORT_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, fabsf)
CUTEPORT_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, fabs)
inline cuComplex make_cuComplex(float re, float im) { return make_cuFloatComplex(re, im); }
