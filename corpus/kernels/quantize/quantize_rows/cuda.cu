// 8-bit codes of rows with one scale a row, one block a row:
//
//   most = max(max_i |x[r][i]|, least);  scale[r] = most / largest;  q[r][i] = round(x[r][i] * (largest / most))
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename Code>
__device__ __forceinline__ float largest_code();
template <>
__device__ __forceinline__ float largest_code<__nv_fp8_e4m3>() { return 448.0f; }
template <>
__device__ __forceinline__ float largest_code<signed char>() { return 127.0f; }

template <typename Code>
__device__ __forceinline__ Code to_code(float v);
template <>
__device__ __forceinline__ __nv_fp8_e4m3 to_code<__nv_fp8_e4m3>(float v) { return __nv_fp8_e4m3(v); }
template <>
__device__ __forceinline__ signed char to_code<signed char>(float v) {
    return static_cast<signed char>(__float2int_rn(v));
}

// Of bits of magnitudes, which order as the magnitudes do, NaN above all.
__device__ __forceinline__ int block_max(int v) {
    __shared__ int warp_most[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v = max(v, __shfl_xor_sync(0xffffffff, v, mask));
    if (lane == 0) warp_most[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? warp_most[lane] : 0;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v = max(v, __shfl_xor_sync(0xffffffff, v, mask));
    return v;
}

template <typename T, typename Code>
__global__ void quantize_rows(Code* __restrict__ q, float* __restrict__ scale, const T* __restrict__ x, float least,
                              int rows, int hidden, long long x_stride, long long q_stride) {
    const T* x_row = x + blockIdx.x * x_stride;
    Code* q_row = q + blockIdx.x * q_stride;
    int bits = __float_as_int(least);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        bits = max(bits, __float_as_int(fabsf(static_cast<float>(x_row[i]))));
    }
    const float most = __int_as_float(block_max(bits));
    const float factor = largest_code<Code>() / most;
    if (threadIdx.x == 0) scale[blockIdx.x] = most / largest_code<Code>();
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        q_row[i] = to_code<Code>(static_cast<float>(x_row[i]) * factor);
    }
}
