// Rows added to rows by ids, one block a row of x; ids outside 0 ... count - 1 are left out.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void scatter_add(T* out, const T* __restrict__ x, const int* __restrict__ ids, int tokens, int hidden,
                            int count, long long x_stride, long long out_stride) {
    const int row = ids[blockIdx.x];
    if (row < 0 || row >= count) return;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        atomicAdd(&out[row * out_stride + i], x[blockIdx.x * x_stride + i]);
    }
}
