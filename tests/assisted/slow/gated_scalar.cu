// SiLU of one half of a row times the other, in bf16, one element a thread.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void gated(const __nv_bfloat16 *x, __nv_bfloat16 *y, int tokens, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * width) return;
    int t = i / width, c = i % width;
    float g = __bfloat162float(x[(size_t)t * 2 * width + c]);
    float u = __bfloat162float(x[(size_t)t * 2 * width + width + c]);
    y[i] = __float2bfloat16(g / (1.0f + expf(-g)) * u);
}

int main() {
    int tokens = 4096, width = 4096;
    __nv_bfloat16 *x, *y;
    cudaMalloc(&x, (size_t)tokens * 2 * width * sizeof(__nv_bfloat16));
    cudaMalloc(&y, (size_t)tokens * width * sizeof(__nv_bfloat16));
    gated<<<(tokens * width + 255) / 256, 256>>>(x, y, tokens, width);
    cudaDeviceSynchronize();
    return 0;
}
