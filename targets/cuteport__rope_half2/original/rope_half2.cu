// Rotary position embedding, in place, on interleaved pairs of fp16.
//
//   qk        [tokens][heads][half_dim] of half2: (even, odd) pairs
//   cos_tab   [max_pos][half_dim], sin_tab the same
//   positions [tokens]
//
// One block per token. Arithmetic in fp32, storage in fp16.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdio.h>

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

int main()
{
    const int tokens = 2048, heads = 32, half_dim = 64, max_pos = 4096;
    half2* qk;
    float *cos_tab, *sin_tab;
    int* positions;
    cudaMalloc(&qk, sizeof(half2) * tokens * heads * half_dim);
    cudaMalloc(&cos_tab, sizeof(float) * max_pos * half_dim);
    cudaMalloc(&sin_tab, sizeof(float) * max_pos * half_dim);
    cudaMalloc(&positions, sizeof(int) * tokens);
    cudaMemset(qk, 0, sizeof(half2) * tokens * heads * half_dim);
    cudaMemset(positions, 0, sizeof(int) * tokens);

    rope_half2<<<tokens, 256>>>(qk, cos_tab, sin_tab, positions, heads, half_dim);

    cudaError_t err = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(err));
    cudaFree(qk);
    cudaFree(cos_tab);
    cudaFree(sin_tab);
    cudaFree(positions);
    return err;
}
