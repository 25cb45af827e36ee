#include <cuda_bf16.h>

struct alignas(16) Pack8 {
    __nv_bfloat162 h[4];
};

__device__ __forceinline__ float swish(float z) { return __fdividef(z, 1.0f + __expf(-z)); }

// [tokens, 2 * d] -> [tokens, d]
__global__ void __launch_bounds__(256) silu_and_mul_kernel(Pack8* dst, const Pack8* src, int d8) {
    const size_t t = blockIdx.x;
    for (int c = threadIdx.x; c < d8; c += 256) {
        Pack8 g = src[t * 2 * d8 + c];
        Pack8 u = src[t * 2 * d8 + d8 + c];
        Pack8 o;
        for (int j = 0; j < 4; j++) {
            float2 gf = __bfloat1622float2(g.h[j]);
            float2 uf = __bfloat1622float2(u.h[j]);
            o.h[j] = __floats2bfloat162_rn(swish(gf.x) * uf.x, swish(gf.y) * uf.y);
        }
        dst[t * d8 + c] = o;
    }
}
