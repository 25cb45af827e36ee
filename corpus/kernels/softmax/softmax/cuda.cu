// Softmax of rows, or its logarithm, one block a row:
//
//   out[r][i] = exp(x[r][i] - max_i) / sum_i exp(x[r][i] - max_i)    or    x[r][i] - max_i - log(sum_i ...)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

__device__ __forceinline__ float block_max(float v) {
    __shared__ float warp_max[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, mask));
    if (lane == 0) warp_max[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? warp_max[lane] : -__int_as_float(0x7f800000);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, mask));
    return v;
}

__device__ __forceinline__ float block_sum(float v) {
    __shared__ float warp_sums[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
    if (lane == 0) warp_sums[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? warp_sums[lane] : 0.0f;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
    return v;
}

template <typename T>
__global__ void softmax(T* __restrict__ out, const T* __restrict__ x, int rows, int columns, long long x_stride,
                        long long out_stride, int log) {
    const T* x_row = x + blockIdx.x * x_stride;
    T* out_row = out + blockIdx.x * out_stride;
    float most = -__int_as_float(0x7f800000);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, static_cast<float>(x_row[i]));
    most = block_max(most);
    float total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) total += expf(static_cast<float>(x_row[i]) - most);
    total = block_sum(total);
    if (log) {
        const float minus = logf(total);
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            out_row[i] = static_cast<T>(static_cast<float>(x_row[i]) - most - minus);
    } else {
        const float scale = 1.0f / total;
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            out_row[i] = static_cast<T>(expf(static_cast<float>(x_row[i]) - most) * scale);
    }
}
