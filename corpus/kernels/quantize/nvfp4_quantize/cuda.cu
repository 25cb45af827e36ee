// Rows as NVFP4, a thread for each group of 16 elements:
//
//   s = e4m3(g * max |x| / 6); q = e2m1(x * g / s)
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

template <typename T>
__global__ void nvfp4_quantize(unsigned char* __restrict__ q, __nv_fp8_e4m3* __restrict__ scale,
                               const T* __restrict__ x, const float* __restrict__ g, int rows, int columns,
                               long long x_stride, long long q_stride, int tiles) {
    int groups = (columns + 15) / 16, scale_rows = rows;
    if (tiles) {
        groups = (groups + 3) / 4 * 4;
        scale_rows = (rows + 127) / 128 * 128;
    }
    const long long unit = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    const int row = unit / groups, group = unit % groups;
    if (row >= scale_rows) return;
    const int first = group * 16;
    if (row >= rows || first >= columns) {
        scale[scale_offset(row, group, groups, tiles)] = __nv_fp8_e4m3(0.0f);
        return;
    }
    const T* x_row = x + row * x_stride;
    unsigned char* q_row = q + row * q_stride;
    const int last = first + 16 < columns ? first + 16 : columns;
    float most = 0.0f;
    for (int i = first; i < last; ++i) {
        const float size = fabsf(static_cast<float>(x_row[i]));
        if (!(size <= most)) most = size;
        if (most != most) break;
    }
    const __nv_fp8_e4m3 code(*g * (most * (1.0f / 6.0f)));
    scale[scale_offset(row, group, groups, tiles)] = code;
    const float step = static_cast<float>(code);
    const float factor = step == 0.0f ? 0.0f : *g / step;
    for (int i = first; i < last; i += 2) {
        const float second = i + 1 < last ? static_cast<float>(x_row[i + 1]) * factor : 0.0f;
        const float2 pair = make_float2(static_cast<float>(x_row[i]) * factor, second);
        q_row[i / 2] = __nv_cvt_float2_to_fp4x2(pair, __NV_E2M1, cudaRoundNearest);
    }
}
