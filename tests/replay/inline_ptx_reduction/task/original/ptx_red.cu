// Sums of bins by a reduction in memory that the author wrote as PTX; two statements in a macro's block.
#include <cuda_runtime.h>

__global__ void bin_sums(const float *values, const int *bins, float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float *at = sums + (bins[i] & 15);
    asm volatile("{ .reg .pred p; setp.gt.f32 p, %1, 0f00000000;\n\t@p red.global.add.f32 [%0], %1; }"
                 ::"l"(at), "f"(values[i]) : "memory");
}

int main() {
    int n = 3000;
    float *values, *sums;
    int *bins;
    cudaMalloc(&values, n * sizeof(float));
    cudaMalloc(&bins, n * sizeof(int));
    cudaMalloc(&sums, 16 * sizeof(float));
    cudaMemset(sums, 0, 16 * sizeof(float));
    bin_sums<<<(n + 255) / 256, 256>>>(values, bins, sums, n);
    cudaDeviceSynchronize();
}
