// 8-bit codes of groups along the row with one scale a group, one warp a group:
//
//   most = max(max of |x| in the group, least);  scale[r][g] = most / largest;  q = round(x * (largest / most))
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename Code>
__device__ __forceinline__ float largest_code();
template <>
__device__ __forceinline__ float largest_code<__nv_fp8_e4m3>() { return 448.0f; }
template <>
__device__ __forceinline__ float largest_code<signed char>() { return 127.0f; }

__device__ __forceinline__ void store_code(__nv_fp8_e4m3* at, float v) { *at = __nv_fp8_e4m3(v); }
__device__ __forceinline__ void store_code(signed char* at, float v) {
    *at = static_cast<signed char>(__float2int_rn(v));
}

template <typename T, typename Code>
__global__ void quantize_groups(Code* __restrict__ q, float* __restrict__ scale, const T* __restrict__ x, float least,
                                int rows, int hidden, int group, long long x_stride, long long q_stride,
                                long long scale_row, long long scale_group) {
    const int lane = threadIdx.x & 31;
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int groups = (hidden + group - 1) / group;
    const int row = warp / groups, g = warp % groups;
    if (row >= rows) return;

    const int first = g * group, end = min(hidden, first + group);
    const T* x_row = x + row * x_stride;
    Code* q_row = q + row * q_stride;
    // Bits of magnitudes order as the magnitudes do, NaN above all.
    int bits = __float_as_int(least);
    for (int i = first + lane; i < end; i += 32) {
        bits = max(bits, __float_as_int(fabsf(static_cast<float>(x_row[i]))));
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) bits = max(bits, __shfl_xor_sync(0xffffffff, bits, mask));
    const float most = __int_as_float(bits);
    const float factor = largest_code<Code>() / most;
    if (lane == 0) scale[row * scale_row + g * scale_group] = most / largest_code<Code>();
    for (int i = first + lane; i < end; i += 32) store_code(q_row + i, static_cast<float>(x_row[i]) * factor);
}
