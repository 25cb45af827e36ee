// Barriers, fences, warp votes and shuffles, cache-hinted loads and stores, asynchronous copies.
#pragma once
int __syncthreads_count(int); int __syncthreads_and(int); int __syncthreads_or(int);
void __syncwarp(unsigned = 0xffffffffu);
void __threadfence(); void __threadfence_block(); void __threadfence_system();
void __nanosleep(unsigned); void __brkpt(); void __prof_trigger(int);
long clock(); long long clock64(); unsigned long long globaltimer();

unsigned __activemask();
unsigned __ballot_sync(unsigned, int); int __all_sync(unsigned, int); int __any_sync(unsigned, int);
int __uni_sync(unsigned, int);
unsigned __ballot(int); int __all(int); int __any(int);
unsigned __lanemask_lt(); unsigned __lanemask_le(); unsigned __lanemask_gt(); unsigned __lanemask_ge();
unsigned __lanemask_eq();
// Overloads of one type each, as CUDA has them: a bool or a short is shuffled as an int.
#define CUTEPORT_SHUFFLES(T)                                                             \
  T __shfl_sync(unsigned, T, int, int = 32); T __shfl_xor_sync(unsigned, T, int, int = 32); \
  T __shfl_up_sync(unsigned, T, unsigned, int = 32); T __shfl_down_sync(unsigned, T, unsigned, int = 32); \
  T __shfl(T, int, int = 32); T __shfl_xor(T, int, int = 32);                            \
  T __shfl_up(T, unsigned, int = 32); T __shfl_down(T, unsigned, int = 32);
#define CUTEPORT_LANE_VALUES(T)                                                          \
  unsigned __match_any_sync(unsigned, T); unsigned __match_all_sync(unsigned, T, int*);  \
  CUTEPORT_SHUFFLES(T)
CUTEPORT_LANE_VALUES(int) CUTEPORT_LANE_VALUES(unsigned)
CUTEPORT_LANE_VALUES(long) CUTEPORT_LANE_VALUES(unsigned long)
CUTEPORT_LANE_VALUES(long long) CUTEPORT_LANE_VALUES(unsigned long long)
CUTEPORT_LANE_VALUES(float) CUTEPORT_LANE_VALUES(double)
int __reduce_add_sync(unsigned, int); unsigned __reduce_add_sync(unsigned, unsigned);
int __reduce_min_sync(unsigned, int); unsigned __reduce_min_sync(unsigned, unsigned);
int __reduce_max_sync(unsigned, int); unsigned __reduce_max_sync(unsigned, unsigned);
unsigned __reduce_and_sync(unsigned, unsigned); unsigned __reduce_or_sync(unsigned, unsigned);
unsigned __reduce_xor_sync(unsigned, unsigned);

template <class T> T __ldg(const T*);
template <class T> T __ldca(const T*); template <class T> T __ldcg(const T*);
template <class T> T __ldcs(const T*); template <class T> T __ldlu(const T*); template <class T> T __ldcv(const T*);
template <class T> struct cuteport_same { typedef T type; };
template <class T> void __stcg(T*, typename cuteport_same<T>::type);
template <class T> void __stcs(T*, typename cuteport_same<T>::type);
template <class T> void __stwb(T*, typename cuteport_same<T>::type);
template <class T> void __stwt(T*, typename cuteport_same<T>::type);
size_t __cvta_generic_to_shared(const void*); size_t __cvta_generic_to_global(const void*);
unsigned __isShared(const void*); unsigned __isGlobal(const void*);
void __pipeline_memcpy_async(void*, const void*, size_t, size_t = 0);
void __pipeline_commit(); void __pipeline_wait_prior(int);
