// New rows of K and V into a paged cache, one block a token. A slot below 0 is padding. Cache is T, or fp8 with a
// scale for each of K and V. heads_first: blocks are [heads][block_size][dim], otherwise [block_size][heads][dim].
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

template <typename T>
__device__ __forceinline__ void store_row(T* at, T v, const float*) { *at = v; }
template <typename T>
__device__ __forceinline__ void store_row(__nv_fp8_e4m3* at, T v, const float* scale) {
    *at = __nv_fp8_e4m3(static_cast<float>(v) * (1.0f / *scale));
}

template <typename T, typename Cache, typename Slot>
__global__ void kv_cache_append(const T* __restrict__ key, const T* __restrict__ value, Cache* __restrict__ key_cache,
                                Cache* __restrict__ value_cache, const Slot* __restrict__ slots,
                                const float* __restrict__ k_scale, const float* __restrict__ v_scale,
                                bool heads_first, int tokens, int heads, int dim, int block_size,
                                long long key_stride, long long value_stride, long long block_stride) {
    const long long token = blockIdx.x;
    const long long slot = slots[token];
    if (slot < 0) return;
    const long long block = slot / block_size, offset = slot % block_size;
    for (int i = threadIdx.x; i < heads * dim; i += blockDim.x) {
        const int h = i / dim, d = i % dim;
        const long long row = heads_first ? h * block_size + offset : offset * heads + h;
        const long long at = block * block_stride + row * dim + d;
        store_row(key_cache + at, key[token * key_stride + i], k_scale);
        store_row(value_cache + at, value[token * value_stride + i], v_scale);
    }
}
