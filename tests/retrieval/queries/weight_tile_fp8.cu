#include <cuda_bf16.h>
#include <cuda_fp8.h>

// blockDim (32, 8) walks a 128x128 tile of W
__global__ void quantize_weight_tiles(__nv_fp8_e4m3* Wq, float* S, const __nv_bfloat16* W, int K) {
    __shared__ float red[8][32];
    const size_t origin = (size_t)blockIdx.y * 128 * K + blockIdx.x * 128;
    float a = 0.f;
    for (int r = threadIdx.y; r < 128; r += 8)
        for (int c = threadIdx.x; c < 128; c += 32) a = fmaxf(a, fabsf(__bfloat162float(W[origin + (size_t)r * K + c])));
    red[threadIdx.y][threadIdx.x] = a;
    __syncthreads();
    for (int h = 4; h > 0; h >>= 1) {
        if (threadIdx.y < h) red[threadIdx.y][threadIdx.x] = fmaxf(red[threadIdx.y][threadIdx.x], red[threadIdx.y + h][threadIdx.x]);
        __syncthreads();
    }
    if (threadIdx.y == 0)
        for (int h = 16; h > 0; h >>= 1) {
            if (threadIdx.x < h) red[0][threadIdx.x] = fmaxf(red[0][threadIdx.x], red[0][threadIdx.x + h]);
            __syncwarp();
        }
    __syncthreads();
    const float s = fmaxf(red[0][0], 1e-12f) / 448.f;
    if (threadIdx.x == 0 && threadIdx.y == 0) S[blockIdx.y * gridDim.x + blockIdx.x] = s;
    for (int r = threadIdx.y; r < 128; r += 8)
        for (int c = threadIdx.x; c < 128; c += 32)
            Wq[origin + (size_t)r * K + c] = __nv_fp8_e4m3(__bfloat162float(W[origin + (size_t)r * K + c]) / s);
}
