// Read-only and cache-hinted loads and stores.
#include <cuda_runtime.h>

__global__ void ldg(float *out, const float *__restrict__ x, const int2 *__restrict__ pairs, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = __ldg(&x[i]);
    float b = __ldg(x + (n - 1 - i));
    int2 p = __ldg(&pairs[i]);
    float c = __ldcs(&x[i]) + __ldcg(x);
    __stcs(&out[i], a - b + c + (p.x ^ p.y) % 100);
}

void run(float *out, const float *x, const int2 *pairs, int n) { ldg<<<(n + 127) / 128, 128>>>(out, x, pairs, n); }
