// The accurate functions and their fast intrinsics are different functions.
#include <cuda_runtime.h>
#include <math.h>

__global__ void math_accuracy(float *out, float *fast, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], a = fabsf(v) + 0.5f;
    out[i] = expf(v) + logf(a) + sinf(v) + cosf(v) + powf(a, 1.7f) + tanhf(v) + erff(v) + rsqrtf(a) + sqrtf(a) + log1pf(a)
           + expm1f(v) + fmodf(v, 0.3f) + copysignf(a, v) + cbrtf(a) + atan2f(v, a) + exp2f(v) + log2f(a) + hypotf(v, a);
    fast[i] = __expf(v) + __logf(a) + __sinf(v) + __cosf(v) + __powf(a, 1.7f) + __fdividef(v, a) + __frcp_rn(a) + __frsqrt_rn(a)
            + __saturatef(v);
}

void run(float *out, float *fast, const float *x, int n) { math_accuracy<<<(n + 127) / 128, 128>>>(out, fast, x, n); }
