#include <cuda_bf16.h>

struct Moments { float mean, m2; float n; };

__device__ Moments merge(Moments a, Moments b) {
    float n = a.n + b.n;
    if (n == 0.f) return a;
    float d = b.mean - a.mean;
    Moments r;
    r.n = n;
    r.mean = a.mean + d * b.n / n;
    r.m2 = a.m2 + b.m2 + d * d * a.n * b.n / n;
    return r;
}

__global__ void ln_fwd(__nv_bfloat16* o, const __nv_bfloat16* a, const float* gamma, const float* beta, float eps, int D) {
    __shared__ Moments part[32];
    const __nv_bfloat16* p = a + (long)blockIdx.x * D;
    Moments w = {0.f, 0.f, 0.f};
    for (int i = threadIdx.x; i < D; i += blockDim.x) {
        float x = __bfloat162float(p[i]);
        w.n += 1.f;
        float d = x - w.mean;
        w.mean += d / w.n;
        w.m2 += d * (x - w.mean);
    }
    for (int s = 16; s > 0; s >>= 1) {
        Moments other;
        other.mean = __shfl_down_sync(0xffffffff, w.mean, s);
        other.m2 = __shfl_down_sync(0xffffffff, w.m2, s);
        other.n = __shfl_down_sync(0xffffffff, w.n, s);
        w = merge(w, other);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = w;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < (int)blockDim.x / 32; i++) w = merge(w, part[i]);
        part[0] = w;
    }
    __syncthreads();
    float mu = part[0].mean, rs = rsqrtf(part[0].m2 / D + eps);
    for (int i = threadIdx.x; i < D; i += blockDim.x)
        o[(long)blockIdx.x * D + i] = __float2bfloat16((__bfloat162float(p[i]) - mu) * rs * gamma[i] + beta[i]);
}
