// Transpose of a matrix: rows are read along, columns are written across.
#include <cuda_runtime.h>

__global__ void transpose(const float *in, float *out, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) out[(size_t)c * rows + r] = in[(size_t)r * columns + c];
}

int main() {
    int rows = 4096, columns = 2048;
    float *in, *out;
    cudaMalloc(&in, rows * columns * sizeof(float));
    cudaMalloc(&out, rows * columns * sizeof(float));
    dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
    transpose<<<grid, block>>>(in, out, rows, columns);
    cudaDeviceSynchronize();
    return 0;
}
