// The unroll pragma: bare, with a count, with 1, with a constant expression, over a run-time bound.
#include <cuda_runtime.h>

template <int U>
__device__ float partial(const float *x, int n)
{
    float s = 0.0f;
#pragma unroll U
    for (int k = 0; k < n; k++)
        s = s * 0.5f + x[k];
    return s;
}

__global__ void unroll(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float r[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        r[k] = x[(i + k) % n];
#pragma unroll 1
    for (int k = 0; k < 3; ++k)
        r[k] += r[k + 1];
#pragma unroll 2
    for (int k = 3; k > 0; k--)
        r[k] -= r[k - 1];
    out[i] = r[0] + r[3] + partial<4>(x, min(i + 1, 6));
}

void run(float *out, const float *x, int n) { unroll<<<(n + 127) / 128, 128>>>(out, x, n); }
