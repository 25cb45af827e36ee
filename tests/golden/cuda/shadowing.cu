// Inner scopes that redeclare a name, in a block, a for header and a loop body.
#include <cuda_runtime.h>

__constant__ int n_extra = 3;

__global__ void shadowing(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 1023;
    int sum = v;
    {
        int v = sum + 1;
        sum += v;
        {
            float v = 0.5f;
            sum += (int)(v * 4);
        }
    }
    for (int i = 0; i < n_extra; i++) {
        int sum2 = sum, n = i * 2;
        for (int i = n; i < n + 2; i++)
            sum2 += i;
        sum = sum2;
    }
    if (int v = sum & 3)
        sum += v * 1000;
    out[i] = sum + v;
}

void run(int *out, const int *x, int n) { shadowing<<<(n + 127) / 128, 128>>>(out, x, n); }
