// Elements above a limit, and where they stood, in any order. One addition to the counter for all lanes that found one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A place for this thread; the lanes that are here have one of them ask for all.
__device__ __forceinline__ int claim(int* found) {
    const unsigned int active = __activemask();
    const int lane = threadIdx.x & 31;
    const int leader = __ffs(active) - 1;
    int first = 0;
    if (lane == leader) first = atomicAdd(found, __popc(active));
    first = __shfl_sync(active, first, leader);
    return first + __popc(active & ((1u << lane) - 1));
}

// *found is zero before.
template <typename T>
__global__ void compact(T* out, int* at, int* found, const T* __restrict__ x, long long count, float limit) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const T value = x[i];
        if (static_cast<float>(value) > limit) {
            const int place = claim(found);
            out[place] = value;
            at[place] = static_cast<int>(i);
        }
    }
}
