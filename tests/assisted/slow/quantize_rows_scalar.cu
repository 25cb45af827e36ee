// Rows to int8 with a scale a row, one thread a row, two passes.
#include <cuda_runtime.h>

__global__ void quantize_rows(const float *x, signed char *q, float *scales, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float most = 0.0f;
    for (int c = 0; c < columns; ++c) most = fmaxf(most, fabsf(x[(size_t)r * columns + c]));
    float scale = most / 127.0f;
    float inverse = most > 0.0f ? 127.0f / most : 0.0f;
    scales[r] = scale;
    for (int c = 0; c < columns; ++c) {
        float v = rintf(x[(size_t)r * columns + c] * inverse);
        q[(size_t)r * columns + c] = (signed char)fminf(fmaxf(v, -127.0f), 127.0f);
    }
}

int main() {
    int rows = 4096, columns = 1024;
    float *x, *s;
    signed char *q;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&q, rows * columns);
    cudaMalloc(&s, rows * sizeof(float));
    quantize_rows<<<(rows + 127) / 128, 128>>>(x, q, s, rows, columns);
    cudaDeviceSynchronize();
    return 0;
}
