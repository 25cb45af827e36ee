#include <cuda_fp16.h>

__device__ float tree(float* s, float v) {
    int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    float r = s[0];
    __syncthreads();
    return r;
}

// h += delta; y = LN(h) * g + b
__global__ void post_attention(half* h, const half* delta, half* y, const half* g, const half* b, int n) {
    extern __shared__ float buf[];
    half* hr = h + (size_t)blockIdx.x * n;
    const half* dr = delta + (size_t)blockIdx.x * n;
    float s1 = 0.f;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        half z = __hadd(hr[c], dr[c]);
        hr[c] = z;
        s1 += __half2float(z);
    }
    float mu = tree(buf, s1) / n;
    float s2 = 0.f;
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float d = __half2float(hr[c]) - mu;
        s2 += d * d;
    }
    float inv = rsqrtf(tree(buf, s2) / n + 1e-5f);
    for (int c = threadIdx.x; c < n; c += blockDim.x)
        y[(size_t)blockIdx.x * n + c] = __float2half((__half2float(hr[c]) - mu) * inv * __half2float(g[c]) + __half2float(b[c]));
}
