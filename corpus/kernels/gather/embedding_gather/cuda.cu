// Rows of an embedding table, one block a token; this shard has the ids first ... first + count - 1:
//
//   out[t] = table[ids[t] - first], or zeros where the id is another shard's
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, typename Id>
__global__ void embedding_gather(T* __restrict__ out, const T* __restrict__ table, const Id* __restrict__ ids,
                                 bool checked, int tokens, int hidden, long long first, int count,
                                 long long table_stride, long long out_stride) {
    const long long row = static_cast<long long>(ids[blockIdx.x]) - first;
    const bool inside = !checked || (row >= 0 && row < count);
    T* out_row = out + blockIdx.x * out_stride;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        out_row[i] = inside ? table[row * table_stride + i] : static_cast<T>(0.0f);
}
