#include <cuda_fp16.h>

// qkv: [tokens][(nq + 2 * nkv) * 128]; normalises the query and key heads where they are, leaves values alone
__global__ void norm_heads(half2* qkv, const half2* wq, const half2* wk, float eps, int nq, int nkv) {
    const int head = blockIdx.y;
    half2* p = qkv + ((size_t)blockIdx.x * (nq + 2 * nkv) + head) * 64;
    const half2* w = head < nq ? wq : wk;
    const float2 v = __half22float2(p[threadIdx.x]);  // 64 threads
    float ss = v.x * v.x + v.y * v.y;
    for (int d = 16; d > 0; d /= 2) ss += __shfl_xor_sync(0xffffffffu, ss, d);
    __shared__ float two[2];
    if ((threadIdx.x & 31) == 0) two[threadIdx.x >> 5] = ss;
    __syncthreads();
    const float r = rsqrtf((two[0] + two[1]) * (1.f / 128) + eps);
    const float2 g = __half22float2(w[threadIdx.x]);
    p[threadIdx.x] = __floats2half2_rn(v.x * r * g.x, v.y * r * g.y);
}

void launch(half* qkv, const half* wq, const half* wk, int tokens, int nq, int nkv) {
    norm_heads<<<dim3(tokens, nq + nkv), 64>>>((half2*)qkv, (const half2*)wq, (const half2*)wk, 1e-6f, nq, nkv);
}
