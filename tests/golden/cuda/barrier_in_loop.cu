// Barriers inside a loop with a uniform trip count, and in a device function.
#include <cuda_runtime.h>

__device__ int block_sum(int *s, int t, int v)
{
    s[t] = v;
    __syncthreads();
    for (int d = 64; d > 0; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    int r = s[0];
    __syncthreads();
    return r;
}

__global__ void barrier_in_loop(int *out, const int *x, int rows, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        int acc = 0;
        for (int c = t; c < n; c += 128)
            acc += x[r * n + c] & 1023;
        int total = block_sum(s, t, acc);
        if (t == 0)
            out[r] = total;
    }
}

void run(int *out, const int *x, int rows, int n) { barrier_in_loop<<<min(rows, 16), 128>>>(out, x, rows, n); }
