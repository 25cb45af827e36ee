// QK norm, then rotary embedding, of Q and K in place, one warp a head. The table has a row of cosines, then
// sines, for each position. interleaved: the pairs are neighbours (GPT-J); otherwise halves apart (NeoX).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, typename Angle, typename Position>
__global__ void qk_norm_rope(T* q, T* k, const T* __restrict__ q_weight, const T* __restrict__ k_weight,
                             const Position* __restrict__ positions, const Angle* __restrict__ table,
                             bool interleaved, float eps, float weight_bias, int tokens, int q_heads, int k_heads,
                             int head, int rotary, long long q_stride, long long k_stride) {
    const int lane = threadIdx.x & 31;
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int heads = q_heads + k_heads, half = rotary / 2;
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
    __syncwarp();

    const Angle* angles = table + static_cast<long long>(positions[token]) * rotary;
    for (int i = lane; i < half; i += 32) {
        const int a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + half;
        const float x = static_cast<float>(row[a]) * scale * (static_cast<float>(weight[a]) + weight_bias);
        const float y = static_cast<float>(row[b]) * scale * (static_cast<float>(weight[b]) + weight_bias);
        const float c = static_cast<float>(angles[i]), s = static_cast<float>(angles[half + i]);
        row[a] = static_cast<T>(x * c - y * s);
        row[b] = static_cast<T>(y * c + x * s);
    }
    for (int i = rotary + lane; i < head; i += 32)
        row[i] = static_cast<T>(static_cast<float>(row[i]) * scale * (static_cast<float>(weight[i]) + weight_bias));
}
