// min and max of ints, unsigneds, mixed operands, 64-bit, floats and doubles.
#include <cuda_runtime.h>

__global__ void minmax_mixed(double *out, const int *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    unsigned u = 7u;
    double r = min(v, 3) + max(v, -3);
    r += min((unsigned)v, u) + max(u, 9u);
    r += max((long long)v * 5, -1000000000000LL);
    r += fminf(y[i], 0.5f) + fmaxf(y[i], -0.5f) + min(y[i], 2.0f) + max((double)y[i], 0.1);
    r += min(v & 15, 8) + fmin(1.0, (double)v) + abs(v >> 4) + fabsf(y[i]) + abs(y[i]);
    out[i] = r;
}

void run(double *out, const int *x, const float *y, int n) { minmax_mixed<<<(n + 127) / 128, 128>>>(out, x, y, n); }
