// 8-bit codes of square blocks of a matrix with one scale a block, one thread block each:
//
//   most = max(max of |x| in the block, least);  scale[i][j] = most / largest;  q = round(x * (largest / most))
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
__global__ void quantize_blocks(Code* __restrict__ q, float* __restrict__ scale, const T* __restrict__ x, float least,
                                int rows, int columns, int side, long long x_stride, long long q_stride) {
    __shared__ int most_bits;
    const int first_row = blockIdx.y * side, first_column = blockIdx.x * side;
    const int height = min(side, rows - first_row), width = min(side, columns - first_column);
    if (threadIdx.x == 0) most_bits = __float_as_int(least);
    __syncthreads();
    // Bits of magnitudes order as the magnitudes do, NaN above all.
    int bits = 0;
    for (int k = threadIdx.x; k < height * width; k += blockDim.x) {
        const long long row = first_row + k / width, column = first_column + k % width;
        bits = max(bits, __float_as_int(fabsf(static_cast<float>(x[row * x_stride + column]))));
    }
    atomicMax(&most_bits, bits);
    __syncthreads();
    const float most = __int_as_float(most_bits);
    const float factor = largest_code<Code>() / most;
    if (threadIdx.x == 0) scale[blockIdx.y * gridDim.x + blockIdx.x] = most / largest_code<Code>();
    for (int k = threadIdx.x; k < height * width; k += blockDim.x) {
        const long long row = first_row + k / width, column = first_column + k % width;
        store_code(q + row * q_stride + column, static_cast<float>(x[row * x_stride + column]) * factor);
    }
}
