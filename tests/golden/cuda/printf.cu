// Device printf with several argument types.
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void print_some(const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 64 == 0)
        printf("x[%d] = %f, block %u of %u, 100%%\n", i, x[i], blockIdx.x, gridDim.x);
    if (i == 0)
        printf("done\n");
}

void run(const float *x, int n) { print_some<<<(n + 127) / 128, 128>>>(x, n); }
