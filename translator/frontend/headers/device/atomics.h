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

enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQ_REL,
       __NV_ATOMIC_SEQ_CST };
enum { __NV_THREAD_SCOPE_THREAD, __NV_THREAD_SCOPE_BLOCK, __NV_THREAD_SCOPE_CLUSTER, __NV_THREAD_SCOPE_DEVICE,
       __NV_THREAD_SCOPE_SYSTEM };
#define CUTEPORT_SCOPE int = __NV_THREAD_SCOPE_SYSTEM
template <class T> T __nv_atomic_load_n(T*, int, CUTEPORT_SCOPE);
template <class T> void __nv_atomic_load(T*, T*, int, CUTEPORT_SCOPE);
template <class T> void __nv_atomic_store_n(T*, typename cuteport_same<T>::type, int, CUTEPORT_SCOPE);
template <class T> void __nv_atomic_store(T*, T*, int, CUTEPORT_SCOPE);
template <class T> bool __nv_atomic_compare_exchange(T*, T*, T*, bool, int, int, CUTEPORT_SCOPE);
template <class T>
bool __nv_atomic_compare_exchange_n(T*, T*, typename cuteport_same<T>::type, bool, int, int, CUTEPORT_SCOPE);
#define CUTEPORT_NV_ATOMIC(NAME)                                                         \
  template <class T> T NAME(T*, typename cuteport_same<T>::type, int, CUTEPORT_SCOPE);
CUTEPORT_NV_ATOMIC(__nv_atomic_exchange_n)
CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_add) CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_sub)
CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_min) CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_max)
CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_and) CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_or)
CUTEPORT_NV_ATOMIC(__nv_atomic_fetch_xor)
