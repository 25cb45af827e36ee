// Lambdas: one that captures by value, one by reference.
#include <cuda_runtime.h>

__global__ void lambda_local(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0, v = x[i] & 255;
    auto scaled = [v](int k) { return v * k; };
    auto add = [&](int k) { sum += scaled(k); };
    v = 1000;
    add(2);
    add(3);
    out[i] = sum + v;
}

void run(int *out, const int *x, int n) { lambda_local<<<(n + 127) / 128, 128>>>(out, x, n); }
