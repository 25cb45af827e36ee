#include <cuda_bf16.h>
#include <cuda_fp8.h>

// block (128): one 1x128 slice of an activation row
__global__ void act_quant(__nv_fp8_e4m3* y, float* s, const __nv_bfloat16* x, int n_slices, int N) {
    __shared__ float sh[128];
    const int row = blockIdx.x, slice = blockIdx.y, t = threadIdx.x;
    const size_t at = (size_t)row * N + slice * 128 + t;
    const float v = (slice * 128 + t < N) ? __bfloat162float(x[at]) : 0.f;
    sh[t] = fabsf(v);
    __syncthreads();
#pragma unroll
    for (int d = 64; d > 0; d >>= 1) {
        if (t < d) sh[t] = fmaxf(sh[t], sh[t + d]);
        __syncthreads();
    }
    const float scale = fmaxf(sh[0], 1e-4f) / 448.f;
    if (slice * 128 + t < N) y[at] = static_cast<__nv_fp8_e4m3>(v / scale);
    if (t == 0) s[(size_t)row * n_slices + slice] = scale;
}
