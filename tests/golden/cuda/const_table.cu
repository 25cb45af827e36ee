// Constant memory: one table with initial values, one that the host fills.
#include <cuda_runtime.h>

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ float weights[4];
static __device__ const short deltas[2][3] = {{-1, 0, 1}, {4, 5, 6}};

__global__ void const_table(float *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    out[i] = primes[v & 7] * weights[(v >> 3) & 3] + deltas[v & 1][(unsigned)v % 3u];
}

void run(float *out, const int *x, int n)
{
    float w[4] = {0.5f, 1.0f, -2.0f, 4.0f};
    cudaMemcpyToSymbol(weights, w, sizeof(w));
    const_table<<<(n + 127) / 128, 128>>>(out, x, n);
}
