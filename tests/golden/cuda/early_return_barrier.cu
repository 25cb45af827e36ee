// A guard that returns before a barrier: the other threads of the block must still meet there.
#include <cuda_runtime.h>

__global__ void early_return_barrier(int *out, const int *x, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    int i = blockIdx.x * 128 + t;
    if (i >= n)
        return;
    s[t] = x[i];
    __syncthreads();
    int valid = min(128, n - (int)blockIdx.x * 128);
    out[i] = s[(t + 1) % valid];
    __syncthreads();
    s[t] = out[i] ^ t;
    __syncthreads();
    out[i] = s[valid - 1 - t];
}

void run(int *out, const int *x, int n) { early_return_barrier<<<(n + 127) / 128, 128>>>(out, x, n); }
