// Top-k gating of a mixture of experts, one warp a token:
//
//   p = softmax(logits[t][0 .. experts)); topk_ids[t][k], topk_weights[t][k] = the k-th largest of p
//
// Among equal ones the lower expert comes first; a NaN counts as -inf. Weights are divided by their sum where
// `renormalize`. Dynamic shared memory: a float for each warp and expert.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void topk_gating(int* __restrict__ topk_ids, float* __restrict__ topk_weights,
                            const T* __restrict__ logits, int tokens, int experts, int top_k, long long stride,
                            int renormalize) {
    extern __shared__ float scores[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int token = blockIdx.x * (blockDim.x >> 5) + warp;
    if (token >= tokens) return;
    float* score = scores + warp * experts;

    float largest = -__int_as_float(0x7f800000);
    for (int e = lane; e < experts; e += 32) {
        const float v = static_cast<float>(logits[token * stride + e]);
        score[e] = isnan(v) ? -__int_as_float(0x7f800000) : v;
        largest = fmaxf(largest, score[e]);
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, mask));
    float sum = 0.0f;
    for (int e = lane; e < experts; e += 32) sum += expf(score[e] - largest);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask);

    float chosen = 0.0f;
    for (int k = 0; k < top_k; ++k) {
        float best = -__int_as_float(0x7f800000);
        int at = experts;
        for (int e = lane; e < experts; e += 32) {
            // A chosen one is a NaN, which is neither larger nor equal.
            if (score[e] > best || (score[e] == best && e < at)) best = score[e], at = e;
        }
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1) {
            const float other = __shfl_xor_sync(0xffffffff, best, mask);
            const int where = __shfl_xor_sync(0xffffffff, at, mask);
            if (other > best || (other == best && where < at)) best = other, at = where;
        }
        const float weight = expf(best - largest) / sum;
        chosen += weight;
        if (lane == 0) {
            topk_ids[token * top_k + k] = at;
            topk_weights[token * top_k + k] = weight;
        }
        if (at % 32 == lane) score[at] = __int_as_float(0x7fffffff);
    }
    if (renormalize && lane == 0) {
        for (int k = 0; k < top_k; ++k) topk_weights[token * top_k + k] /= chosen;
    }
}
