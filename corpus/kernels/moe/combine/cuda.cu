// Combine of a mixture of experts, one block a token:
//
//   out[t][i] = sum_k(weights[t][k] * y[slots[t][k]][i]) + residual[t][i]      slots of -1 are left out
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void combine(T* __restrict__ out, const T* __restrict__ y, const int* __restrict__ slots,
                        const float* __restrict__ weights, const T* __restrict__ residual, int tokens, int top_k,
                        int hidden, long long y_stride, long long out_stride, int add_residual) {
    const int token = blockIdx.x;
    if (token >= tokens) return;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < top_k; ++k) {
            const int slot = slots[token * top_k + k];
            if (slot < 0) continue;
            sum += weights[token * top_k + k] * static_cast<float>(y[slot * y_stride + i]);
        }
        if (add_residual) sum += static_cast<float>(residual[token * out_stride + i]);
        out[token * out_stride + i] = static_cast<T>(sum);
    }
}
