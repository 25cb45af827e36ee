// Nested ?: with operands of different types, and loads that only one side may make.
#include <cuda_runtime.h>

__global__ void ternary_nested(float *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    int left = i > 0 ? x[i - 1] : v;
    int right = i + 1 < n ? x[i + 1] : i + 2 < n ? x[i + 2] : -1;
    float f = v > 0 ? left > v ? 0.5f : 1 : right < v ? v : -2.5f;
    unsigned u = v & 1 ? -1 : 1u;  // -1 becomes 4294967295
    out[i] = f + (u > 1u ? 0.25f : 0.125f);
}

void run(float *out, const int *x, int n) { ternary_nested<<<(n + 127) / 128, 128>>>(out, x, n); }
