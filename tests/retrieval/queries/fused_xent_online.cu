struct SoftmaxParams { float Scale; float Offset; };

__device__ float warpMax(float v) { for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(0xFFFFFFFF, v, o)); return v; }
__device__ float warpSum(float v) { for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xFFFFFFFF, v, o); return v; }

// one pass over the vocabulary with a running maximum; loss of the target only, probabilities are not kept
__global__ void fused_classifier(float* losses, const float4* logits, const int* targets, int V4) {
    __shared__ float sm[32], ss[32];
    const float4* x = logits + (size_t)blockIdx.x * V4;
    float m = -1e38f, s = 0.f;
    for (int i = threadIdx.x; i < V4; i += blockDim.x) {
        float4 v = x[i];
        float loc = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        float nm = fmaxf(m, loc);
        s = s * expf(m - nm) + expf(v.x - nm) + expf(v.y - nm) + expf(v.z - nm) + expf(v.w - nm);
        m = nm;
    }
    float wm = warpMax(m);
    s = warpSum(s * expf(m - wm));
    if (threadIdx.x % 32 == 0) { sm[threadIdx.x / 32] = wm; ss[threadIdx.x / 32] = s; }
    __syncthreads();
    if (threadIdx.x < 32) {
        bool live = threadIdx.x < blockDim.x / 32;
        float a = live ? sm[threadIdx.x] : -1e38f, b = live ? ss[threadIdx.x] : 0.f;
        float gm = warpMax(a);
        b = warpSum(b * expf(a - gm));
        if (threadIdx.x == 0) {
            SoftmaxParams sp = {1.f / b, gm};
            int ix = targets[blockIdx.x];
            float own = ((const float*)x)[ix];
            losses[blockIdx.x] = -logf(expf(own - sp.Offset) * sp.Scale);
        }
    }
}
