// half and half2 arithmetic by intrinsic, by operator and through float.
#include <cuda_fp16.h>

__global__ void half2_math(__half2 *out, const __half2 *x, const __half *scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    half2 v = x[i];
    half s = scale[i];
    half2 a = __hadd2(v, __half2half2(s));
    half2 b = __hmul2(a, __floats2half2_rn(0.5f, 2.0f));
    half2 c = __hfma2(v, v, b);
    half lo = __low2half(c) + __high2half(c) * s;
    if (__hgt(lo, __float2half(1.0f)))
        lo = __hmax(lo - s, s);
    float f = __half2float(lo) * 0.25f;
    out[i] = __halves2half2(lo, __float2half_rn(f));
}

void run(half2 *out, const half2 *x, const half *scale, int n) { half2_math<<<(n + 127) / 128, 128>>>(out, x, scale, n); }
