// __launch_bounds__ with both numbers, in front of the name as in the wild, and an attribute on a helper.
#include <cuda_runtime.h>

constexpr int kThreads = 192;

__device__ __noinline__ float helper(float v) { return v * v + 1.0f; }

extern "C" __global__ void __launch_bounds__(kThreads, 2) launch_bounds(float *out, const float *x, int n)
{
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
        out[i] = helper(x[i]);
}

void run(float *out, const float *x, int n) { launch_bounds<<<4, kThreads>>>(out, x, n); }
