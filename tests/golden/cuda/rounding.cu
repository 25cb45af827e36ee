// Float to integer in all four roundings, rounding functions, rounding-mode arithmetic.
#include <cuda_runtime.h>

__global__ void rounding(int *out, float *fout, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    int r = __float2int_rn(v) + 3 * __float2int_rz(v) + 5 * __float2int_ru(v) + 7 * __float2int_rd(v);
    r += (int)v + (int)rintf(v) + (int)roundf(v) + (int)floorf(v) + (int)ceilf(v) + (int)truncf(v);
    r += __float2uint_rn(fabsf(v)) + (int)lrintf(v);
    out[i] = r;
    float s = __fadd_rn(v, 0.1f);
    s = __fmul_rz(s, 1.1f);
    s = __fadd_ru(s, 1e-8f);
    s = __fdiv_rn(s, 3.0f);
    s = __fmaf_rd(s, s, v);
    fout[i] = __fsqrt_rn(fabsf(s)) + __int2float_rn(r) + __uint2float_rz(0x81000001u);
}

void run(int *out, float *fout, const float *x, int n) { rounding<<<(n + 127) / 128, 128>>>(out, fout, x, n); }
