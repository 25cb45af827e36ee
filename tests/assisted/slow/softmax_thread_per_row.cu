// Softmax over rows, one thread a row: neighbours read addresses a row apart.
#include <cuda_runtime.h>

__global__ void softmax_rows(const float *x, float *y, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *in = x + (size_t)r * columns;
    float *out = y + (size_t)r * columns;
    float most = -3.4e38f;
    for (int c = 0; c < columns; ++c) most = fmaxf(most, in[c]);
    float sum = 0.0f;
    for (int c = 0; c < columns; ++c) {
        float e = expf(in[c] - most);
        out[c] = e;
        sum += e;
    }
    for (int c = 0; c < columns; ++c) out[c] = out[c] / sum;
}

int main() {
    int rows = 4096, columns = 1024;
    float *x, *y;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&y, rows * columns * sizeof(float));
    softmax_rows<<<(rows + 127) / 128, 128>>>(x, y, rows, columns);
    cudaDeviceSynchronize();
    return 0;
}
