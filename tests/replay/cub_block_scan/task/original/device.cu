#include <cub/block/block_scan.cuh>
#ifdef __CUDACC_RTC__
#include <cuda/std/cstdint>
#else
#include <cstdint>
#include <sys/types.h>
#endif

constexpr int THREADS = 128;
#line 7 "cub_scan.cu"
__global__ void scan_blocks(const int *in, int *out, int64_t *totals, int n) {
    typedef cub::BlockScan<int, THREADS> Scan;
    __shared__ typename Scan::TempStorage storage;
    int i = blockIdx.x * THREADS + threadIdx.x;
    int value = i < n ? in[i] : 0;
    int total;
    Scan(storage).ExclusiveSum(value, value, total);
    if (i < n) out[i] = value;
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
