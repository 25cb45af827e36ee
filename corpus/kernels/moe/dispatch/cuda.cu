// Dispatch of a mixture of experts by one persistent kernel:
//
//   slots[t][k] = offsets[e] + choices of e = topk_ids[t][k] before (t, k);  out[slots[t][k]] = x[t]
//
// Block 0 finds the slots while all others wait at a barrier; then all copy rows. Experts outside
// [first, first + local) are on other GPUs. All blocks must be on the GPU at once: ask for no more than it has
// multiprocessors.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int SHARDS = 16;
constexpr int MOST_EXPERTS = 512;

// One word, zero before and after: arrivals count it up to the number of blocks, departures on to twice as many.
__device__ void grid_sync(unsigned* word) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned blocks = gridDim.x;
        __threadfence();
        atomicInc(word, 2 * blocks - 1);
        while (*(volatile unsigned*)word < blocks) {
        }
        __threadfence();
        atomicInc(word, 2 * blocks - 1);
    }
    __syncthreads();
}

template <typename T>
__global__ void dispatch(T* __restrict__ out, int* counts, int* offsets, int* slots, unsigned* barrier,
                         const T* __restrict__ x, const int* __restrict__ topk_ids, int tokens, int hidden,
                         long long x_stride, int experts, int top_k, int pad, int zero_padding, int first,
                         int local) {
    __shared__ int shard_counts[SHARDS][MOST_EXPERTS];
    const int choices = tokens * top_k;
    if (blockIdx.x == 0) {
        const int share = (choices + SHARDS - 1) / SHARDS;
        const int start = threadIdx.x * share, stop = min(start + share, choices);
        for (int i = threadIdx.x; i < SHARDS * MOST_EXPERTS; i += blockDim.x) (&shard_counts[0][0])[i] = 0;
        __syncthreads();
        if (threadIdx.x < SHARDS)
            for (int i = start; i < stop; i++) {
                const int e = topk_ids[i];
                if (e >= first && e < first + local) shard_counts[threadIdx.x][e]++;
            }
        __syncthreads();
        if (threadIdx.x == 0) {
            int offset = 0;
            for (int e = 0; e < experts; e++) {
                int row = offset;
                for (int s = 0; s < SHARDS; s++) {
                    const int n = shard_counts[s][e];
                    shard_counts[s][e] = row;
                    row += n;
                }
                counts[e] = row - offset;
                offsets[e] = offset;
                offset += (row - offset + pad - 1) / pad * pad;
            }
            offsets[experts] = offset;
        }
        __syncthreads();
        if (threadIdx.x < SHARDS)
            for (int i = start; i < stop; i++) {
                const int e = topk_ids[i];
                slots[i] = e >= first && e < first + local ? shard_counts[threadIdx.x][e]++ : -1;
            }
    }
    grid_sync(barrier);
    for (int i = blockIdx.x; i < choices; i += gridDim.x) {
        const long long row = slots[i];
        if (row < 0) continue;
        const T* x_row = x + i / top_k * x_stride;
        for (int c = threadIdx.x; c < hidden; c += blockDim.x) out[row * hidden + c] = x_row[c];
    }
    if (!zero_padding) return;
    for (int e = blockIdx.x; e < experts; e += gridDim.x)
        for (long long row = offsets[e] + counts[e]; row < offsets[e + 1]; row++)
            for (int c = threadIdx.x; c < hidden; c += blockDim.x) out[row * hidden + c] = static_cast<T>(0.0f);
}
