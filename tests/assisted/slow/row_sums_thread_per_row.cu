// Sums of rows, one thread a row.
#include <cuda_runtime.h>

__global__ void row_sums(const float *x, float *sums, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int c = 0; c < columns; ++c) sum += x[(size_t)r * columns + c];
        sums[r] = sum;
    }
}

int main() {
    int rows = 8192, columns = 2048;
    float *x, *s;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&s, rows * sizeof(float));
    row_sums<<<(rows + 255) / 256, 256>>>(x, s, rows, columns);
    cudaDeviceSynchronize();
    return 0;
}
