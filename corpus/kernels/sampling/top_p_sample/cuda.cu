// A token for each row of logits, of those that together make up top_p of the probability, one block a row:
//
//   weight[i] = exp((x[i] - max) / temperature), as a whole number of 2^-30
//   kept      = all i whose weight is at least w, the largest w for which they weigh top_p of the total or more
//   index     = the first i up to which the kept ones weigh more than uniform times all of them
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

constexpr int BLOCK = 256;

// Infinities and a temperature of zero: only the largest weigh anything. NaN weighs nothing.
__device__ __forceinline__ int weight_of(float v, float most, float scale) {
    return v == most ? 1 << 30 : __float2int_rn(exp2f((v - most) * scale) * 1073741824.0f);
}

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

__device__ __forceinline__ long long block_sum(long long v) {
    __shared__ long long warp_sums[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
    __syncthreads();
    if (lane == 0) warp_sums[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? warp_sums[lane] : 0;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffff, v, mask);
    return v;
}

template <typename T>
__device__ __forceinline__ long long sum_from(const T* x_row, int begin, int end, int step, float most, float scale,
                                              int least) {
    long long sum = 0;
    for (int i = begin; i < end; i += step) {
        const int w = weight_of(static_cast<float>(x_row[i]), most, scale);
        if (w >= least) sum += w;
    }
    return sum;
}

template <typename T, typename I>
__global__ void top_p_sample(I* __restrict__ index, const T* __restrict__ x, const float* __restrict__ temperature,
                             const float* __restrict__ top_p, const float* __restrict__ uniform, int rows,
                             int columns, long long x_stride) {
    __shared__ long long parts[BLOCK];
    const T* x_row = x + blockIdx.x * x_stride;
    float most = -__int_as_float(0x7f800000);
    for (int i = threadIdx.x; i < columns; i += BLOCK) most = fmaxf(most, static_cast<float>(x_row[i]));
    most = block_max(most);
    const float scale = 1.4426950408889634f / temperature[blockIdx.x];
    const long long total = block_sum(sum_from(x_row, threadIdx.x, columns, BLOCK, most, scale, 1));
    long long need = (long long)((double)top_p[blockIdx.x] * (double)total);
    need = max(1LL, min(need, total));
    // The largest weight from which on they weigh enough, bit by bit.
    int least = 0;
    for (int bit = 1 << 30; bit > 0; bit >>= 1) {
        if (block_sum(sum_from(x_row, threadIdx.x, columns, BLOCK, most, scale, least + bit)) >= need) least += bit;
    }
    // Neighbouring elements to a thread; then one thread finds the part, and in it the element.
    const int share = (columns + BLOCK - 1) / BLOCK;
    const int begin = min(columns, (int)threadIdx.x * share), end = min(columns, begin + share);
    parts[threadIdx.x] = sum_from(x_row, begin, end, 1, most, scale, least);
    __syncthreads();
    if (threadIdx.x == 0) {
        long long kept = 0, before = 0, chosen = -1;
        for (int k = 0; k < BLOCK; ++k) kept += parts[k];
        const long long target = min((long long)((double)uniform[blockIdx.x] * (double)kept), kept - 1);
        for (int k = 0; k < BLOCK && kept > 0; ++k) {
            if (before + parts[k] > target) {
                for (chosen = k * share;; ++chosen) {
                    const int w = weight_of(static_cast<float>(x_row[chosen]), most, scale);
                    if (w >= least) before += w;
                    if (before > target) break;
                }
                break;
            }
            before += parts[k];
        }
        index[blockIdx.x] = static_cast<I>(chosen);
    }
}
