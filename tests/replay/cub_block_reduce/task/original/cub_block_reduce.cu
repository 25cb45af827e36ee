// One sum per row by cub::BlockReduce.
#include <cub/cub.cuh>

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

int main() {
    const int rows = 40, width = 300;
    float *d_rows, *d_sums;
    cudaMalloc(&d_rows, sizeof(float) * rows * width);
    cudaMalloc(&d_sums, sizeof(float) * rows);
    row_sums<128><<<rows, 128>>>(d_rows, d_sums, width);
    cudaDeviceSynchronize();
    return 0;
}
