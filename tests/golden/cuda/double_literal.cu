// A literal without f makes the whole expression double; the result is rounded once, at the store.
#include <cuda_runtime.h>
#include <math.h>

__global__ void double_literal(float *out, double *dout, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    out[i] = v * 0.1 + 1.0;
    out[i] += 1e-9 * v;
    if (v < 0.1)
        out[i] *= 2;
    double d = sqrt(fabs(v)) + exp(-v * (double)v);
    dout[i] = d / 3 + (i + 1) / 2 + 1.f / 3.f;
}

void run(float *out, double *dout, const float *x, int n) { double_literal<<<(n + 127) / 128, 128>>>(out, dout, x, n); }
