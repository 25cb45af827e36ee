// Running sums of an array in one pass: each block waits for the sum of all tiles before its own.
#include <cuda_bf16.h>

__device__ __forceinline__ unsigned int bits_of(float v) { return __float_as_uint(v); }
__device__ __forceinline__ unsigned int bits_of(int v) { return static_cast<unsigned int>(v); }
__device__ __forceinline__ void from_bits(unsigned int bits, float& v) { v = __uint_as_float(bits); }
__device__ __forceinline__ void from_bits(unsigned int bits, int& v) { v = static_cast<int>(bits); }

// state[tile] = 1 << 32 | the bits of the sum up to and with the tile, 0 while it isn't known. state and ticket
// are zero, and zero again at the end. Blocks of 256 threads, an element each.
template <typename T, typename S>
__global__ void inclusive_scan(T* __restrict__ out, const T* __restrict__ x, volatile unsigned long long* state,
                               unsigned int* ticket, long long count) {
    __shared__ S sums[256];
    __shared__ S earlier;
    __shared__ unsigned int tile;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    const long long i = (long long)tile * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < count ? static_cast<S>(x[i]) : static_cast<S>(0);
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        S sum = sums[threadIdx.x];
        if (threadIdx.x >= step) sum += sums[threadIdx.x - step];
        __syncthreads();
        sums[threadIdx.x] = sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        S before = 0;
        if (tile > 0) {
            unsigned long long word;
            do {
                word = state[tile - 1];
            } while (word == 0);
            from_bits(static_cast<unsigned int>(word), before);
        }
        earlier = before;
        state[tile] = 1ull << 32 | bits_of(before + sums[blockDim.x - 1]);
    }
    __syncthreads();
    if (i < count) out[i] = static_cast<T>(earlier + sums[threadIdx.x]);
    // The last tile knows its sum: nobody waits any more.
    if (tile == gridDim.x - 1) {
        for (int k = threadIdx.x; k < gridDim.x; k += blockDim.x) state[k] = 0;
        if (threadIdx.x == 0) *ticket = 0;
    }
}
