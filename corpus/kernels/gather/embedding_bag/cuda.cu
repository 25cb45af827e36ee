// Weighted bags of rows of an embedding table, one block a bag, and how often each row was used:
//
//   out[b] = scale * sum of weights[b][k] * table[ids[b][k]] over k < lengths[b] whose id is a row
//   scale: SUM 1, MEAN 1 / sum of weights, SQRTN 1 / sqrt(sum of their squares)
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum Mode { SUM, MEAN, SQRTN };

template <typename T, typename Id, int mode>
__global__ void embedding_bag(T* __restrict__ out, int* __restrict__ uses, const T* __restrict__ table,
                              const Id* __restrict__ ids, const float* __restrict__ weights,
                              const int* __restrict__ lengths, int bags, int most, int hidden, int count,
                              long long table_stride, long long out_stride) {
    const int length = lengths[blockIdx.x];
    const Id* bag = ids + static_cast<long long>(blockIdx.x) * most;
    const float* weight = weights + static_cast<long long>(blockIdx.x) * most;
    float total = 0.0f;
    int used = 0;
    for (int k = 0; k < length; ++k) {
        if (bag[k] < 0 || bag[k] >= count) continue;
        total += mode == SQRTN ? weight[k] * weight[k] : weight[k];
        ++used;
        if (threadIdx.x == 0) atomicAdd(uses + bag[k], 1);
    }
    float scale = 1.0f;
    if (mode == MEAN) scale = used ? 1.0f / total : 0.0f;
    if (mode == SQRTN) scale = used ? 1.0f / sqrtf(total) : 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < length; ++k) {
            if (bag[k] < 0 || bag[k] >= count) continue;
            sum += weight[k] * static_cast<float>(table[static_cast<long long>(bag[k]) * table_stride + i]);
        }
        out[blockIdx.x * out_stride + i] = static_cast<T>(sum * scale);
    }
}
