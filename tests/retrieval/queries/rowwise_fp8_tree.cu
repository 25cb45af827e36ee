#include <cuda_bf16.h>
#include <cuda_fp8.h>

template <int NT>
__global__ void rowwise(__nv_fp8_storage_t* codes, float* row_scale, const __nv_bfloat162* a, int pairs) {
    __shared__ float s[NT];
    const __nv_bfloat162* r = a + (size_t)blockIdx.x * pairs;
    float big = 1e-10f;
    for (int p = threadIdx.x; p < pairs; p += NT) {
        float2 f = __bfloat1622float2(r[p]);
        big = fmaxf(big, fmaxf(fabsf(f.x), fabsf(f.y)));
    }
    s[threadIdx.x] = big;
    for (int w = NT >> 1; w; w >>= 1) {
        __syncthreads();
        if (threadIdx.x < w && s[threadIdx.x + w] > s[threadIdx.x]) s[threadIdx.x] = s[threadIdx.x + w];
    }
    __syncthreads();
    const float mul = 448.f / s[0];
    if (!threadIdx.x) row_scale[blockIdx.x] = s[0] / 448.f;
    unsigned short* out = (unsigned short*)(codes + (size_t)blockIdx.x * pairs * 2);
    for (int p = threadIdx.x; p < pairs; p += NT) {
        float2 f = __bfloat1622float2(r[p]);
        f.x *= mul;
        f.y *= mul;
        out[p] = __nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, __NV_E4M3);
    }
}
template __global__ void rowwise<256>(__nv_fp8_storage_t*, float*, const __nv_bfloat162*, int);
