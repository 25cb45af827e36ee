// The sum of an array: a partial sum of each block, and the block that finishes last adds them up.
#include <cuda_bf16.h>

template <typename S>
__device__ S block_sum(S* sums, S value) {
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

// partial[gridDim.x]; ticket is zero, and zero again at the end. Blocks of 256 threads.
template <typename T, typename S>
__global__ void array_sum(S* out, const T* __restrict__ x, volatile S* partial, unsigned int* ticket,
                          long long count, int partials) {
    __shared__ S sums[256];
    __shared__ bool is_last;
    S sum = 0;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
        sum += static_cast<S>(x[i]);
    }
    sum = block_sum(sums, sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(ticket, partials - 1) == partials - 1;
    }
    __syncthreads();
    if (is_last) {
        sum = 0;
        for (int i = threadIdx.x; i < partials; i += blockDim.x) sum += partial[i];
        sum = block_sum(sums, sum);
        if (threadIdx.x == 0) *out = sum;
    }
}
