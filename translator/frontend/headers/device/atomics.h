// Atomics; the value is converted to the pointee's type.
#pragma once
#define CUTEPORT_ATOMIC(NAME)                                                            \
  template <class T> T NAME(T*, typename cuteport_same<T>::type);                        \
  template <class T> T NAME(volatile T*, typename cuteport_same<T>::type);               \
  template <class T> T NAME##_block(T*, typename cuteport_same<T>::type);                \
  template <class T> T NAME##_system(T*, typename cuteport_same<T>::type);
CUTEPORT_ATOMIC(atomicAdd) CUTEPORT_ATOMIC(atomicSub) CUTEPORT_ATOMIC(atomicExch)
CUTEPORT_ATOMIC(atomicMin) CUTEPORT_ATOMIC(atomicMax)
CUTEPORT_ATOMIC(atomicInc) CUTEPORT_ATOMIC(atomicDec)
CUTEPORT_ATOMIC(atomicAnd) CUTEPORT_ATOMIC(atomicOr) CUTEPORT_ATOMIC(atomicXor)
#define CUTEPORT_CAS(NAME, PTR)                                                          \
  template <class T> T NAME(PTR, typename cuteport_same<T>::type, typename cuteport_same<T>::type);
CUTEPORT_CAS(atomicCAS, T*) CUTEPORT_CAS(atomicCAS, volatile T*)
CUTEPORT_CAS(atomicCAS_block, T*) CUTEPORT_CAS(atomicCAS_system, T*)
