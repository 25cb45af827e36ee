#include <cstdint>

// sorted token ids per expert, each expert's share padded to whole tiles of the grouped GEMM
template <typename scalar_t>
__global__ void align_tiles(const scalar_t* __restrict__ ids, int32_t* sorted, int32_t* tile_expert, int32_t* total_padded,
                            int32_t E, int32_t tile, size_t numel) {
    const size_t per_thread = (numel + blockDim.x - 1) / blockDim.x;
    const size_t from = threadIdx.x * per_thread;
    extern __shared__ int32_t smem[];
    int32_t* cnt = smem;                          // (blockDim.x + 1) x E
    int32_t* cum = smem + (blockDim.x + 1) * E;   // E + 1
    for (int i = 0; i < E; ++i) cnt[(threadIdx.x + 1) * E + i] = 0;
    for (size_t i = from; i < numel && i < from + per_thread; ++i) ++cnt[(threadIdx.x + 1) * E + ids[i]];
    __syncthreads();
    if (threadIdx.x < E) {
        cnt[threadIdx.x] = 0;
        for (int i = 1; i <= blockDim.x; ++i) cnt[i * E + threadIdx.x] += cnt[(i - 1) * E + threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        cum[0] = 0;
        for (int i = 1; i <= E; ++i) cum[i] = cum[i - 1] + (cnt[blockDim.x * E + i - 1] + tile - 1) / tile * tile;
        *total_padded = cum[E];
    }
    __syncthreads();
    if (threadIdx.x < E)
        for (int i = cum[threadIdx.x]; i < cum[threadIdx.x + 1]; i += tile) tile_expert[i / tile] = threadIdx.x;
    for (size_t i = from; i < numel && i < from + per_thread; ++i) {
        int32_t e = ids[i];
        sorted[cnt[threadIdx.x * E + e] + cum[e]] = i;
        ++cnt[threadIdx.x * E + e];
    }
}
template __global__ void align_tiles<int>(const int*, int32_t*, int32_t*, int32_t*, int32_t, int32_t, size_t);
