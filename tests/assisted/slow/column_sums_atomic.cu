// Sums of columns: every element is added to its column's sum in memory by an atomic.
#include <cuda_runtime.h>

__global__ void column_sums(const float *x, float *sums, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) atomicAdd(&sums[i % columns], x[i]);
}

int main() {
    int rows = 8192, columns = 1024;
    float *x, *s;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&s, columns * sizeof(float));
    cudaMemset(s, 0, columns * sizeof(float));
    column_sums<<<(rows * columns + 255) / 256, 256>>>(x, s, rows, columns);
    cudaDeviceSynchronize();
    return 0;
}
