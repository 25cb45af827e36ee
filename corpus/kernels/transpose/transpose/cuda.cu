// Transpose of a matrix by tiles of 32 x 32 in padded shared memory; blocks of 32 x 8 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE = 32;

template <typename T>
__global__ void transpose(T* __restrict__ out, const T* __restrict__ x, int rows, int columns, long long x_stride,
                          long long out_stride) {
    __shared__ T tile[TILE][TILE + 1];
    const int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += blockDim.y) {
        if (row + i < rows && column < columns) {
            tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * x_stride + column];
        }
    }
    __syncthreads();
    const int out_column = blockIdx.y * TILE + threadIdx.x, out_row = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += blockDim.y) {
        if (out_row + i < columns && out_column < rows) {
            out[(out_row + i) * out_stride + out_column] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}
