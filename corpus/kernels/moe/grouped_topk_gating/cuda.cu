// Group-limited top-k gating of a mixture of experts, one warp a token:
//
//   s = sigmoid(logits[t][e]); c = s + bias[e]; a group's score is the sum of its two largest c
//   topk_ids[t][k] = k-th largest c in the topk_groups best groups; topk_weights[t][k] = scale * s
//
// Among equal ones the lower expert or group comes first; a NaN counts as -inf. Weights are divided by their sum
// where `renormalize`. Dynamic shared memory for each warp: a float for each expert and each group.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void grouped_topk_gating(int* __restrict__ topk_ids, float* __restrict__ topk_weights,
                                    const T* __restrict__ logits, const float* __restrict__ bias, float scale,
                                    int tokens, int experts, int groups, int topk_groups, int top_k,
                                    long long stride, int renormalize) {
    extern __shared__ float shared[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int token = blockIdx.x * (blockDim.x >> 5) + warp;
    if (token >= tokens) return;
    float* choice = shared + warp * (experts + groups);
    float* score = choice + experts;
    const T* row = logits + token * stride;

    for (int e = lane; e < experts; e += 32) {
        const float c = 1.0f / (1.0f + expf(-static_cast<float>(row[e]))) + bias[e];
        choice[e] = isnan(c) ? -__int_as_float(0x7f800000) : c;
    }
    __syncwarp();
    const int size = experts / groups;
    for (int g = lane; g < groups; g += 32) {
        float first = -__int_as_float(0x7f800000), second = -__int_as_float(0x7f800000);
        for (int e = g * size; e < (g + 1) * size; ++e) {
            const float c = choice[e];
            if (c > first) {
                second = first;
                first = c;
            } else if (c > second) {
                second = c;
            }
        }
        score[g] = first + second;
    }
    __syncwarp();
    for (int e = lane; e < experts; e += 32) {
        const int group = e / size;
        int better = 0;
        for (int g = 0; g < groups; ++g)
            if (score[g] > score[group] || (score[g] == score[group] && g < group)) ++better;
        if (better >= topk_groups) choice[e] = __int_as_float(0x7fffffff);  // neither larger than another nor equal
    }

    float chosen = 0.0f;
    for (int k = 0; k < top_k; ++k) {
        float best = -__int_as_float(0x7f800000);
        int at = experts;
        for (int e = lane; e < experts; e += 32)
            if (choice[e] > best || (choice[e] == best && e < at)) best = choice[e], at = e;
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1) {
            const float other = __shfl_xor_sync(0xffffffff, best, mask);
            const int where = __shfl_xor_sync(0xffffffff, at, mask);
            if (other > best || (other == best && where < at)) best = other, at = where;
        }
        const float weight = 1.0f / (1.0f + expf(-static_cast<float>(row[at])));
        chosen += weight;
        if (lane == 0) {
            topk_ids[token * top_k + k] = at;
            topk_weights[token * top_k + k] = weight * scale;
        }
        if (at % 32 == lane) choice[at] = __int_as_float(0x7fffffff);
    }
    if (renormalize && lane == 0)
        for (int k = 0; k < top_k; ++k) topk_weights[token * top_k + k] /= chosen;
}
