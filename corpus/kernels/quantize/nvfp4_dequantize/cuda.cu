// Numbers from NVFP4, a thread for each byte of two codes: out = e2m1(q) * (e4m3(scale) * *factor).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// Where a scale lies: row after row, or in tiles of 128 rows x 4 groups.
__device__ __forceinline__ long long scale_offset(int row, int group, int groups, int tiles) {
    if (!tiles) return static_cast<long long>(row) * groups + group;
    const long long tile = static_cast<long long>(row / 128) * (groups / 4) + group / 4;
    return tile * 512 + (row % 32) * 16 + (row % 128) / 32 * 4 + group % 4;
}

// Sign, two bits of exponent, one of mantissa.
__device__ __forceinline__ float e2m1_value(unsigned int code) {
    const int exponent = code >> 1 & 3, mantissa = code & 1;
    const float size = exponent == 0 ? 0.5f * mantissa : (1.0f + 0.5f * mantissa) * (1 << (exponent - 1));
    return code & 8 ? -size : size;
}

template <typename T>
__global__ void nvfp4_dequantize(T* __restrict__ out, const unsigned char* __restrict__ q,
                                 const __nv_fp8_e4m3* __restrict__ scale, const float* __restrict__ factor, int rows,
                                 int columns, long long out_stride, long long q_stride, int tiles) {
    const int row = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i >= columns) return;
    int groups = (columns + 15) / 16;
    if (tiles) groups = (groups + 3) / 4 * 4;
    const float s = static_cast<float>(scale[scale_offset(row, i / 8, groups, tiles)]) * *factor;
    const unsigned int pair = q[row * q_stride + i];
    T* out_row = out + row * out_stride;
    out_row[2 * i] = static_cast<T>(e2m1_value(pair & 15) * s);
    if (2 * i + 1 < columns) out_row[2 * i + 1] = static_cast<T>(e2m1_value(pair >> 4) * s);
}
