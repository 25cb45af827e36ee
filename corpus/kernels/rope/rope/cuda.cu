// Rotary embedding of Q and K in place, one block a token. The table has a row of cosines, then sines, for each
// position. interleaved: the pairs are neighbours (GPT-J); otherwise halves apart (NeoX).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ __forceinline__ void rotate(T* head_row, int i, int half, bool interleaved, float c, float s) {
    const int a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + half;
    const float x = static_cast<float>(head_row[a]), y = static_cast<float>(head_row[b]);
    head_row[a] = static_cast<T>(x * c - y * s);
    head_row[b] = static_cast<T>(y * c + x * s);
}

template <typename T, typename Angle, typename Position>
__global__ void rope(T* __restrict__ q, T* __restrict__ k, const Position* __restrict__ positions,
                     const Angle* __restrict__ table, bool interleaved, int tokens, int q_heads, int k_heads,
                     int head, int rotary, long long q_stride, long long k_stride) {
    const int token = blockIdx.x, half = rotary / 2;
    const Angle* row = table + static_cast<long long>(positions[token]) * rotary;
    for (int i = threadIdx.x; i < q_heads * half; i += blockDim.x) {
        const int h = i / half, p = i % half;
        rotate(q + token * q_stride + h * head, p, half, interleaved, static_cast<float>(row[p]),
               static_cast<float>(row[half + p]));
    }
    for (int i = threadIdx.x; i < k_heads * half; i += blockDim.x) {
        const int h = i / half, p = i % half;
        rotate(k + token * k_stride + h * head, p, half, interleaved, static_cast<float>(row[p]),
               static_cast<float>(row[half + p]));
    }
}
