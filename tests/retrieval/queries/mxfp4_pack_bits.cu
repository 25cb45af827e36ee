#include <stdint.h>

// nearest e2m1 magnitude: 0 .5 1 1.5 2 3 4 6
__device__ uint8_t nibble(float f) {
    uint8_t sign = f < 0 ? 8 : 0;
    f = fabsf(f);
    uint8_t m = f <= .25f ? 0 : f < .75f ? 1 : f <= 1.25f ? 2 : f < 1.75f ? 3 : f <= 2.5f ? 4 : f < 3.5f ? 5 : f <= 5.f ? 6 : 7;
    return sign | m;
}

__global__ void pack_mxfp4(uint8_t* packed, uint8_t* shared_exp, const float* src, int n_blocks) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= n_blocks) return;
    const float4* s = (const float4*)(src + b * 32);
    float m = 0.f;
    for (int i = 0; i < 8; i++) {
        float4 q = s[i];
        m = fmaxf(m, fmaxf(fmaxf(fabsf(q.x), fabsf(q.y)), fmaxf(fabsf(q.z), fabsf(q.w))));
    }
    int ex = (int)((__float_as_uint(m) >> 23) & 0xff) - 2;
    if (ex < 0) ex = 0;
    float r = exp2f((float)(127 - ex));
    for (int i = 0; i < 16; i++)
        packed[b * 16 + i] = nibble(src[b * 32 + 2 * i] * r) | (nibble(src[b * 32 + 2 * i + 1] * r) << 4);
    shared_exp[b] = (uint8_t)ex;
}
