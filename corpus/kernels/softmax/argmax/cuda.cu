// Argmax of rows, one block a row: the first column whose element is the largest; NaN counts as largest.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

// Whether a in column i comes before b in column j.
__device__ __forceinline__ bool before(float a, int i, float b, int j) {
    if (isnan(a) != isnan(b)) return isnan(a);
    if (a > b || a < b) return a > b;
    return i < j;
}

template <typename T, typename I>
__global__ void argmax(I* __restrict__ index, const T* __restrict__ x, int rows, int columns, long long x_stride) {
    __shared__ float warp_values[32];
    __shared__ int warp_columns[32];
    const T* x_row = x + blockIdx.x * x_stride;
    float most = -__int_as_float(0x7f800000);
    int column = 0x7fffffff;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float v = static_cast<float>(x_row[i]);
        if (before(v, i, most, column)) most = v, column = i;
    }
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int round = 0; round < 2; ++round) {
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1) {
            const float v = __shfl_xor_sync(0xffffffff, most, mask);
            const int i = __shfl_xor_sync(0xffffffff, column, mask);
            if (before(v, i, most, column)) most = v, column = i;
        }
        if (round == 0) {
            if (lane == 0) warp_values[warp] = most, warp_columns[warp] = column;
            __syncthreads();
            most = lane < (blockDim.x >> 5) ? warp_values[lane] : -__int_as_float(0x7f800000);
            column = lane < (blockDim.x >> 5) ? warp_columns[lane] : 0x7fffffff;
        }
    }
    if (threadIdx.x == 0) index[blockIdx.x] = column;
}
