// A device function that returns from inside nested loops, called in a loop.
#include <cuda_runtime.h>

__device__ int find(const int *x, int n, int from, int wanted)
{
    for (int k = from; k < n; k++) {
        if (x[k] == wanted)
            return k;
        for (int b = 0; b < 4; b++)
            if ((x[k] >> b & 15) == 9)
                return -k;
    }
    return n;
}

__global__ void device_return_in_loop(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int w = 0; w < 3; w++)
        sum = sum * 7 + find(x, min(n, i + 10), i, w);
    out[i] = sum;
}

void run(int *out, const int *x, int n) { device_return_in_loop<<<(n + 127) / 128, 128>>>(out, x, n); }
