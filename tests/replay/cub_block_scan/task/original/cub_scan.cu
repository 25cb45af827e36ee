// A running sum within each block by cub::BlockScan, and the block's total.
#include <cstdint>
#include <cub/block/block_scan.cuh>

constexpr int THREADS = 128;

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

int main() {
    int n = 1000;
    int *in, *out;
    int64_t *totals;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMalloc(&totals, (n + THREADS - 1) / THREADS * sizeof(int64_t));
    scan_blocks<<<(n + THREADS - 1) / THREADS, THREADS>>>(in, out, totals, n);
    cudaDeviceSynchronize();
}
