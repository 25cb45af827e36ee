#include <cub/block/block_reduce.cuh>

#line 4 "cub_block_reduce.cu"
template <int THREADS>
__global__ void row_sums(const float *rows, float *sums, int width) {
    using Reduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    const float *row = rows + static_cast<size_t>(blockIdx.x) * width;
    float own = 0.0f;
    for (int k = threadIdx.x; k < width; k += THREADS) own += row[k];
    float all = Reduce(storage).Sum(own);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}
