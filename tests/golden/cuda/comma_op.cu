// The comma operator in a for header, as a value and in a condition.
#include <cuda_runtime.h>

__global__ void comma_op(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 255, acc = 0;
    for (int a = 0, b = 15; a < b; a++, b -= 2)
        acc = acc * 2 + ((v >> (a & 7)) & 1) + b;
    int t;
    int w = (t = v + 1, t *= 2, t - 3);
    while (t--, t > v)
        w++;
    out[i] = (acc, w) + acc;
}

void run(int *out, const int *x, int n) { comma_op<<<(n + 127) / 128, 128>>>(out, x, n); }
