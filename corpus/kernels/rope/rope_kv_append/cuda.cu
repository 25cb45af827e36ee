// Rotary embedding of Q in place and of K into a paged cache, V into the cache, one block a token. A slot below 0
// is padding: its Q is rotated, its K and V are kept nowhere. The cache is T, or fp8 with a scale for K and V each.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T>
__device__ __forceinline__ void keep(T* at, float v, const float*) { *at = static_cast<T>(v); }
template <>
__device__ __forceinline__ void keep(__nv_fp8_e4m3* at, float v, const float* scale) {
    *at = __nv_fp8_e4m3(v * (1.0f / *scale));
}

template <typename T, typename Cache, typename Angle, typename Position, typename Slot>
__global__ void rope_kv_append(T* __restrict__ q, const T* __restrict__ key, const T* __restrict__ value,
                               Cache* __restrict__ key_cache, Cache* __restrict__ value_cache,
                               const Position* __restrict__ positions, const Angle* __restrict__ table,
                               const Slot* __restrict__ slots, const float* __restrict__ k_scale,
                               const float* __restrict__ v_scale, bool interleaved, bool heads_first, int tokens,
                               int q_heads, int kv_heads, int head, int rotary, int block_size, long long q_stride,
                               long long key_stride, long long value_stride, long long block_stride) {
    const long long token = blockIdx.x;
    const int half = rotary / 2;
    const Angle* row = table + static_cast<long long>(positions[token]) * rotary;
    for (int i = threadIdx.x; i < q_heads * half; i += blockDim.x) {
        const int h = i / half, p = i % half;
        const int a = interleaved ? 2 * p : p, b = interleaved ? 2 * p + 1 : p + half;
        T* at = q + token * q_stride + h * head;
        const float x = static_cast<float>(at[a]), y = static_cast<float>(at[b]);
        const float c = static_cast<float>(row[p]), s = static_cast<float>(row[half + p]);
        at[a] = static_cast<T>(x * c - y * s);
        at[b] = static_cast<T>(y * c + x * s);
    }

    const long long slot = slots[token];
    if (slot < 0) return;
    const int offset = slot % block_size, rest = head - rotary;
    const long long block = slot / block_size * block_stride;
    const long long apart = heads_first ? static_cast<long long>(block_size) * head : head;  // heads of the cache
    const long long first = block + static_cast<long long>(offset) * (heads_first ? head : kv_heads * head);
    for (int i = threadIdx.x; i < kv_heads * half; i += blockDim.x) {
        const int h = i / half, p = i % half;
        const int a = interleaved ? 2 * p : p, b = interleaved ? 2 * p + 1 : p + half;
        const T* from = key + token * key_stride + h * head;
        const float x = static_cast<float>(from[a]), y = static_cast<float>(from[b]);
        const float c = static_cast<float>(row[p]), s = static_cast<float>(row[half + p]);
        keep(key_cache + first + h * apart + a, x * c - y * s, k_scale);
        keep(key_cache + first + h * apart + b, y * c + x * s, k_scale);
    }
    for (int i = threadIdx.x; i < kv_heads * rest; i += blockDim.x) {
        const int h = i / rest, d = rotary + i % rest;
        keep(key_cache + first + h * apart + d, static_cast<float>(key[token * key_stride + h * head + d]), k_scale);
    }
    for (int i = threadIdx.x; i < kv_heads * head; i += blockDim.x) {
        const int h = i / head, d = i % head;
        keep(value_cache + first + h * apart + d, static_cast<float>(value[token * value_stride + i]), v_scale);
    }
}
