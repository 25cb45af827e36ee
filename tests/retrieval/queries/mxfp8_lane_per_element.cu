#include <cuda_bf16.h>
#include <cuda_fp8.h>

// microscaling: the 32 lanes of a warp hold one block of 32 values; the shared exponent is stored as e8m0
__global__ void to_mxfp8(__nv_fp8_e4m3* out, unsigned char* exps, const __nv_bfloat16* in, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? __bfloat162float(in[i]) : 0.f;
    float amax = fabsf(v);
    for (int k = 16; k > 0; k >>= 1) amax = fmaxf(amax, __shfl_xor_sync(0xffffffff, amax, k));
    int e = 0;
    if (amax > 0.f) e = ilogbf(amax) - 8;
    e = max(-127, min(127, e));
    if (i < n) out[i] = __nv_fp8_e4m3(scalbnf(v, -e));
    if ((threadIdx.x & 31) == 0 && i < n) exps[i / 32] = (unsigned char)(e + 127);
}
