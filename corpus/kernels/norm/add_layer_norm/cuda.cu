// Residual add and layer norm of rows, one block a row:
//
//   residual[r][i] += x[r][i]
//   out[r][i] = (residual[r][i] - mean(residual[r])) / sqrt(var(residual[r]) + eps) * weight[i] + bias[i]
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float block_sum(float v) {
    __shared__ float warp_sums[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
    __syncthreads();  // warp_sums may still be read from the sum before
    if (lane == 0) warp_sums[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? warp_sums[lane] : 0.0f;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
    return v;
}

template <typename T>
__global__ void add_layer_norm(T* __restrict__ out, const T* __restrict__ x, T* __restrict__ residual,
                               const T* __restrict__ weight, const T* __restrict__ bias, float eps, int rows,
                               int hidden, long long x_stride, long long out_stride) {
    const T* x_row = x + blockIdx.x * x_stride;
    T* residual_row = residual + static_cast<long long>(blockIdx.x) * hidden;
    T* out_row = out + blockIdx.x * out_stride;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const T z = static_cast<T>(static_cast<float>(x_row[i]) + static_cast<float>(residual_row[i]));
        residual_row[i] = z;
        sum += static_cast<float>(z);
    }
    const float mean = block_sum(sum) / hidden;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const float v = static_cast<float>(residual_row[i]) - mean;
        squares += v * v;
    }
    const float scale = rsqrtf(block_sum(squares) / hidden + eps);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const float v = (static_cast<float>(residual_row[i]) - mean) * scale;
        out_row[i] = static_cast<T>(v * static_cast<float>(weight[i]) + static_cast<float>(bias[i]));
    }
}
