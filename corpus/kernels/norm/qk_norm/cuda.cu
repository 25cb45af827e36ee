// RMS norm of every head of Q and K in place, one warp a head:
//
//   q[t][h][i] = q[t][h][i] / sqrt(mean_i(q[t][h][i]^2) + eps) * (q_weight[i] + weight_bias), and k likewise
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void qk_norm(T* q, T* k, const T* __restrict__ q_weight, const T* __restrict__ k_weight, float eps,
                        float weight_bias, int tokens, int q_heads, int k_heads, int head, long long q_stride,
                        long long k_stride) {
    const int lane = threadIdx.x & 31;
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int heads = q_heads + k_heads;
    const int token = warp / heads, h = warp % heads;
    if (token >= tokens) return;

    const bool is_q = h < q_heads;
    T* row = is_q ? q + token * q_stride + h * head : k + token * k_stride + (h - q_heads) * head;
    const T* weight = is_q ? q_weight : k_weight;

    float sum = 0.0f;
    for (int i = lane; i < head; i += 32) {
        const float v = static_cast<float>(row[i]);
        sum += v * v;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    const float scale = rsqrtf(sum / head + eps);
    for (int i = lane; i < head; i += 32) {
        const float v = static_cast<float>(row[i]) * scale;
        row[i] = static_cast<T>(v * (static_cast<float>(weight[i]) + weight_bias));
    }
}
