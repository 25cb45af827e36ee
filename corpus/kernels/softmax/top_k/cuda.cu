// Top-k of rows, one block a row and one read of it for each of the k: the largest element that comes after the
// one before. Of equal elements the first comes first; NaN counts as largest.
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
__global__ void top_k(T* __restrict__ values, I* __restrict__ indices, const T* __restrict__ x, int rows,
                      int columns, int k, long long x_stride) {
    __shared__ float warp_values[32];
    __shared__ int warp_columns[32];
    const T* x_row = x + blockIdx.x * x_stride;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float last = __int_as_float(0x7fffffff);
    int last_column = -1;
    for (int n = 0; n < k; ++n) {
        float most = -__int_as_float(0x7f800000);
        int column = 0x7fffffff;
        for (int i = threadIdx.x; i < columns; i += blockDim.x) {
            const float v = static_cast<float>(x_row[i]);
            if (before(last, last_column, v, i) && before(v, i, most, column)) most = v, column = i;
        }
#pragma unroll
        for (int round = 0; round < 2; ++round) {
#pragma unroll
            for (int mask = 16; mask > 0; mask >>= 1) {
                const float v = __shfl_xor_sync(0xffffffff, most, mask);
                const int i = __shfl_xor_sync(0xffffffff, column, mask);
                if (before(v, i, most, column)) most = v, column = i;
            }
            if (round == 0) {
                __syncthreads();
                if (lane == 0) warp_values[warp] = most, warp_columns[warp] = column;
                __syncthreads();
                most = lane < (blockDim.x >> 5) ? warp_values[lane] : -__int_as_float(0x7f800000);
                column = lane < (blockDim.x >> 5) ? warp_columns[lane] : 0x7fffffff;
            }
        }
        last = most, last_column = column;
        if (threadIdx.x == 0) {
            values[(long long)blockIdx.x * k + n] = static_cast<T>(most);
            indices[(long long)blockIdx.x * k + n] = column;
        }
    }
}
