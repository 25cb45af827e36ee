// 8-bit codes of a tensor with one given scale: q[i] = round(x[i] * (1 / scale)), saturating.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__device__ __forceinline__ void store_code(__nv_fp8_e4m3* at, float v) { *at = __nv_fp8_e4m3(v); }
__device__ __forceinline__ void store_code(signed char* at, float v) {
    *at = static_cast<signed char>(max(-128, min(127, __float2int_rn(v))));
}

template <typename T, typename Code>
__global__ void quantize_tensor(Code* __restrict__ q, const float* __restrict__ scale, const T* __restrict__ x,
                                long long count) {
    const float factor = 1.0f / *scale;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) store_code(q + i, static_cast<float>(x[i]) * factor);
}
