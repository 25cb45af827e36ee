// curand's device API; parsed, so that the kernel can be refused by name.
#pragma once
#define CUTEPORT_CURAND_STATE(NAME)                                                      \
  struct NAME { unsigned d, v[5]; int boxmuller_flag; float boxmuller_extra; double boxmuller_extra_double; }; \
  typedef NAME NAME##_t;
CUTEPORT_CURAND_STATE(curandStateXORWOW) CUTEPORT_CURAND_STATE(curandStatePhilox4_32_10)
CUTEPORT_CURAND_STATE(curandStateMRG32k3a) CUTEPORT_CURAND_STATE(curandStateMtgp32)
CUTEPORT_CURAND_STATE(curandStateSobol32) CUTEPORT_CURAND_STATE(curandStateScrambledSobol32)
typedef curandStateXORWOW curandState, curandState_t;
template <class S> void curand_init(unsigned long long, unsigned long long, unsigned long long, S*);
template <class S> void skipahead(unsigned long long, S*);
template <class S> unsigned curand(S*);
template <class S> uint4 curand4(S*);
template <class S> float curand_uniform(S*); template <class S> float4 curand_uniform4(S*);
template <class S> double curand_uniform_double(S*); template <class S> double2 curand_uniform2_double(S*);
template <class S> float curand_normal(S*); template <class S> float2 curand_normal2(S*);
template <class S> float4 curand_normal4(S*);
template <class S> double curand_normal_double(S*); template <class S> double2 curand_normal2_double(S*);
template <class S> float curand_log_normal(S*, float, float);
template <class S> unsigned curand_poisson(S*, double);
