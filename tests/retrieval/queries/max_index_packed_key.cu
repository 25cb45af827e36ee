#include <cuda_fp16.h>
#include <limits.h>

typedef unsigned long long u64;

__device__ u64 orderable(float f, unsigned col) {
    unsigned b = __float_as_uint(f);
    b ^= (b >> 31) ? 0xffffffffu : 0x80000000u;
    return ((u64)b << 32) | (UINT_MAX - col);
}

template <typename T, typename IndexT>
__global__ void row_max_index(IndexT* idx, const T* m, unsigned ncol) {
    __shared__ u64 top;
    if (threadIdx.x == 0) top = 0;
    __syncthreads();
    u64 k = 0;
    for (unsigned c = threadIdx.x; c < ncol; c += blockDim.x) {
        u64 o = orderable((float)m[(size_t)blockIdx.x * ncol + c], c);
        k = o > k ? o : k;
    }
    atomicMax(&top, k);
    __syncthreads();
    if (threadIdx.x == 0) idx[blockIdx.x] = (IndexT)(UINT_MAX - (unsigned)(top & 0xffffffffu));
}
template __global__ void row_max_index<half, long long>(long long*, const half*, unsigned);
