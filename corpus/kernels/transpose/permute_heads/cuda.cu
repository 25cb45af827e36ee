// [batch, seq, heads, dim] -> [batch, heads, seq, dim], or back: one block a token, an element a thread and round.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, bool Inverse>
__global__ void permute_heads(T* __restrict__ out, const T* __restrict__ x, int batch, int seq, int heads, int dim,
                              long long stride) {
    const int b = blockIdx.x / seq, s = blockIdx.x % seq;
    for (int i = threadIdx.x; i < heads * dim; i += blockDim.x) {
        const int h = i / dim, d = i % dim;
        const long long by_token = blockIdx.x * stride + i;
        const long long by_head = (((long long)b * heads + h) * seq + s) * dim + d;
        if (Inverse) {
            out[by_token] = x[by_head];
        } else {
            out[by_head] = x[by_token];
        }
    }
}
