// Cross-entropy of rows of logits, one block a row:
//
//   lse[r]  = log(sum_i exp(x[r][i]))
//   loss[r] = (1 - smoothing) * (lse[r] - x[r][target[r]]) + smoothing * (lse[r] - mean_i(x[r][i]))
//
// and 0 where target[r] is ignore_index.
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

__device__ __forceinline__ float block_sum(float v, float* warp_sums) {
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

template <typename T, typename I>
__global__ void cross_entropy(float* __restrict__ loss, float* __restrict__ lse, const T* __restrict__ x,
                              const I* __restrict__ target, float smoothing, int rows, int classes,
                              long long x_stride, long long ignore_index) {
    __shared__ float totals[32], plains[32];
    const T* x_row = x + blockIdx.x * x_stride;
    float most = -__int_as_float(0x7f800000), plain = 0.0f, total = 0.0f;
    for (int i = threadIdx.x; i < classes; i += blockDim.x) {
        const float v = static_cast<float>(x_row[i]);
        most = fmaxf(most, v);
        plain += v;
    }
    most = block_max(most);
    const float base = most == -__int_as_float(0x7f800000) ? 0.0f : most;
    for (int i = threadIdx.x; i < classes; i += blockDim.x) total += expf(static_cast<float>(x_row[i]) - base);
    total = block_sum(total, totals);
    plain = block_sum(plain, plains);
    if (threadIdx.x == 0) {
        const float own_lse = most + logf(total);
        const long long t = target[blockIdx.x];
        float own = 0.0f;
        if (t != ignore_index) {
            own = own_lse - static_cast<float>(x_row[t]);
            if (smoothing > 0.0f) own = (1.0f - smoothing) * own + smoothing * (own_lse - plain / classes);
        }
        loss[blockIdx.x] = own;
        lse[blockIdx.x] = own_lse;
    }
}
