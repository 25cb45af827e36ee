// Numbers from 8-bit codes: out[r][c] = q[r][c] * scale[r / tile_rows][c / tile_columns].
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T, typename Code>
__global__ void dequantize(T* __restrict__ out, const Code* __restrict__ q, const float* __restrict__ scale, int rows,
                           int hidden, int tile_rows, int tile_columns, long long q_stride, long long out_stride,
                           long long scale_row, long long scale_column) {
    const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= hidden) return;
    const float s = scale[row / tile_rows * scale_row + column / tile_columns * scale_column];
    out[row * out_stride + column] = static_cast<T>(static_cast<float>(q[row * q_stride + column]) * s);
}
