#define BLOCK 256
#line 10 "quantize_int8.cu"
__device__ __forceinline__ signed char quantize_one(float x, float inv_scale)
{
    int q = __float2int_rn(x * inv_scale);
    q = q > 127 ? 127 : q;
    q = q < -127 ? -127 : q;
    return (signed char)q;
}

#line 18 "quantize_int8.cu"
__global__ void quantize_int8(const float* __restrict__ x, signed char* __restrict__ q,
                              float* __restrict__ scale, int cols)
{
    __shared__ float warp_max[BLOCK / 32];

    const int quads = cols >> 2;
    const float4* in4 = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * cols);
    char4* out4 = reinterpret_cast<char4*>(q + (size_t)blockIdx.x * cols);

    float m = 0.0f;
    for (int i = threadIdx.x; i < quads; i += BLOCK) {
        float4 v = in4[i];
        m = fmaxf(m, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    }
    for (int d = 16; d; d >>= 1)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if ((threadIdx.x & 31) == 0)
        warp_max[threadIdx.x >> 5] = m;
    __syncthreads();

    float row_max = warp_max[0];
#pragma unroll
    for (int w = 1; w < BLOCK / 32; ++w)
        row_max = fmaxf(row_max, warp_max[w]);

    const float inv = row_max > 0.0f ? 127.0f / row_max : 0.0f;
    if (threadIdx.x == 0)
        scale[blockIdx.x] = row_max / 127.0f;

    for (int i = threadIdx.x; i < quads; i += BLOCK) {
        float4 v = in4[i];
        char4 r;
        r.x = quantize_one(v.x, inv);
        r.y = quantize_one(v.y, inv);
        r.z = quantize_one(v.z, inv);
        r.w = quantize_one(v.w, inv);
        out4[i] = r;
    }
}
