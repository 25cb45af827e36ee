// Rows as MXFP8 or MXFP4, a thread for each group of 32 elements:
//
//   scale = power of two from the largest magnitude; q = nearest code of x / scale
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

// Where a scale lies: row after row, or in tiles of 128 rows x 4 groups.
__device__ __forceinline__ long long scale_offset(int row, int group, int groups, int tiles) {
    if (!tiles) return static_cast<long long>(row) * groups + group;
    const long long tile = static_cast<long long>(row / 128) * (groups / 4) + group / 4;
    return tile * 512 + (row % 32) * 16 + (row % 128) / 32 * 4 + group % 4;
}

// The scale's exponent, biased by 127; 255 is NaN.
__device__ __forceinline__ int scale_code(float most, int bits, int round_up) {
    if (most != most) return 255;
    if (isinf(most)) return 254;
    if (round_up)
        return __nv_cvt_float_to_e8m0(most * (bits == 8 ? 1.0f / 448.0f : 1.0f / 6.0f), __NV_SATFINITE,
                                      cudaRoundPosInf);
    const int exponent = (__float_as_int(most) >> 23) - (bits == 8 ? 8 : 2);
    return exponent < 0 ? 0 : exponent;
}

template <typename T>
__global__ void mx_quantize(unsigned char* __restrict__ q, unsigned char* __restrict__ scale, const T* __restrict__ x,
                            int rows, int columns, long long x_stride, long long q_stride, int bits, int round_up,
                            int tiles) {
    int groups = (columns + 31) / 32, scale_rows = rows;
    if (tiles) {
        groups = (groups + 3) / 4 * 4;
        scale_rows = (rows + 127) / 128 * 128;
    }
    const long long unit = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    const int row = unit / groups, group = unit % groups;
    if (row >= scale_rows) return;
    const int first = group * 32;
    if (row >= rows || first >= columns) {
        scale[scale_offset(row, group, groups, tiles)] = 0;
        return;
    }
    const T* x_row = x + row * x_stride;
    unsigned char* q_row = q + row * q_stride;
    const int last = first + 32 < columns ? first + 32 : columns;
    float most = 0.0f;
    for (int i = first; i < last; ++i) {
        const float size = fabsf(static_cast<float>(x_row[i]));
        if (!(size <= most)) most = size;
        if (most != most) break;
    }
    const int code = scale_code(most, bits, round_up);
    scale[scale_offset(row, group, groups, tiles)] = code;
    const float inverse = ldexpf(1.0f, 127 - (code == 255 ? 254 : code));
    if (bits == 8) {
        for (int i = first; i < last; ++i)
            q_row[i] = __nv_cvt_float_to_fp8(static_cast<float>(x_row[i]) * inverse, __NV_SATFINITE, __NV_E4M3);
    } else {
        for (int i = first; i < last; i += 2) {
            const float second = i + 1 < last ? static_cast<float>(x_row[i + 1]) * inverse : 0.0f;
            const float2 pair = make_float2(static_cast<float>(x_row[i]) * inverse, second);
            q_row[i / 2] = __nv_cvt_float2_to_fp4x2(pair, __NV_E2M1, cudaRoundNearest);
        }
    }
}
