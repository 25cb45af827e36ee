#include <cuda_fp16.h>

#line 13 "rope_half2.cu"
__global__ void rope_half2(half2* __restrict__ qk, const float* __restrict__ cos_tab,
                           const float* __restrict__ sin_tab, const int* __restrict__ positions,
                           const int heads, const int half_dim)
{
    const int token = blockIdx.x;
    const int pos = positions[token];
    const float* cos_row = cos_tab + pos * half_dim;
    const float* sin_row = sin_tab + pos * half_dim;
    half2* base = qk + (size_t)token * heads * half_dim;

    const int n = heads * half_dim;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int d = i % half_dim;
        const float c = __ldg(&cos_row[d]);
        const float s = __ldg(&sin_row[d]);
        const float2 v = __half22float2(base[i]);
        float2 r;
        r.x = v.x * c - v.y * s;
        r.y = v.x * s + v.y * c;
        base[i] = __float22half2_rn(r);
    }
}
