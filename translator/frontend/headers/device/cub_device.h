// cub's block and warp collectives; parsed, so that the kernel can be refused by name.
#pragma once
namespace cub {
struct Sum { template <class T> T operator()(T, T) const; };
struct Max { template <class T> T operator()(T, T) const; };
struct Min { template <class T> T operator()(T, T) const; };
struct ArgMax { template <class T> T operator()(T, T) const; };
struct ArgMin { template <class T> T operator()(T, T) const; };
template <class K, class V> struct KeyValuePair { K key; V value; KeyValuePair(); KeyValuePair(K, V); };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING,
                            BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE,
                          BLOCK_LOAD_WARP_TRANSPOSE };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE,
                           BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE };
#define CUTEPORT_STORAGE struct TempStorage { int unused; };
template <class T, int N, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
struct BlockReduce {
  CUTEPORT_STORAGE BlockReduce(); BlockReduce(TempStorage&);
  template <class... R> T Sum(R...); template <class I, class O, class... R> T Reduce(I, O, R...);
};
template <class T, int N, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1> struct BlockScan {
  CUTEPORT_STORAGE BlockScan(); BlockScan(TempStorage&);
  template <class... R> void ExclusiveSum(R&&...); template <class... R> void InclusiveSum(R&&...);
  template <class... R> void ExclusiveScan(R&&...); template <class... R> void InclusiveScan(R&&...);
};
template <class T, int N, int I, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT> struct BlockLoad {
  CUTEPORT_STORAGE BlockLoad(TempStorage&); template <class... R> void Load(R&&...);
};
template <class T, int N, int I, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT> struct BlockStore {
  CUTEPORT_STORAGE BlockStore(TempStorage&); template <class... R> void Store(R&&...);
};
template <class T, int N, int I, class V = void, int R = 4> struct BlockRadixSort {
  CUTEPORT_STORAGE BlockRadixSort(TempStorage&); template <class... S> void Sort(S&&...);
  template <class... S> void SortDescending(S&&...); template <class... S> void SortBlockedToStriped(S&&...);
};
template <class T, int N = 32> struct WarpReduce {
  CUTEPORT_STORAGE WarpReduce(TempStorage&);
  template <class... R> T Sum(R...); template <class I, class O, class... R> T Reduce(I, O, R...);
};
template <class T, int N = 32> struct WarpScan {
  CUTEPORT_STORAGE WarpScan(TempStorage&);
  template <class... R> void ExclusiveSum(R&&...); template <class... R> void InclusiveSum(R&&...);
};
}
