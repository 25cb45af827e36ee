#include <cuda_fp16.h>
#define FINAL_MASK 0xffffffff

template <typename T>
__inline__ __device__ T warpReduceSum(T val) {
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(FINAL_MASK, val, mask, 32);
    return val;
}

template <typename T>
__inline__ __device__ T blockReduceSum(T val) {
    static __shared__ T shared[32];
    int lane = threadIdx.x & 0x1f;
    int wid = threadIdx.x >> 5;
    val = warpReduceSum<T>(val);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < (blockDim.x / 32.f)) ? shared[lane] : (T)(0.0f);
    return warpReduceSum<T>(val);
}

__global__ void generalT5LayerNorm(const half2* __restrict input, const half2* __restrict gamma, half2* output,
                                   const float layernorm_eps, int m, int n2) {
    __shared__ float s_variance;
    float local_var_sum = 0.0f;
    for (int i = threadIdx.x; i < n2; i += blockDim.x) {
        const float2 diff = __half22float2(input[blockIdx.x * n2 + i]);
        local_var_sum += diff.x * diff.x + diff.y * diff.y;
    }
    const float variance = blockReduceSum(local_var_sum);
    if (threadIdx.x == 0) s_variance = rsqrtf(variance / (float)(2 * n2) + layernorm_eps);
    __syncthreads();
    const half2 f = __float2half2_rn(s_variance);
    for (int i = threadIdx.x; i < n2; i += blockDim.x)
        output[blockIdx.x * n2 + i] = __hmul2(__hmul2(input[blockIdx.x * n2 + i], f), gamma[i]);
}
