#include <torch/all.h>
#include "type_convert.cuh"
#include "cub_helpers.h"

namespace engine {
template <typename scalar_t, int width>
__global__ void fused_add_rms_norm_kernel(scalar_t* __restrict__ input, scalar_t* __restrict__ residual,
                                          const scalar_t* __restrict__ weight, const float epsilon, const int hidden_size) {
    const int vec_hidden_size = hidden_size / width;
    __shared__ float s_variance;
    float variance = 0.0f;
    auto* __restrict__ input_v = reinterpret_cast<_f16Vec<scalar_t, width>*>(input);
    auto* __restrict__ residual_v = reinterpret_cast<_f16Vec<scalar_t, width>*>(residual);
    auto* __restrict__ weight_v = reinterpret_cast<const _f16Vec<scalar_t, width>*>(weight);
    for (int idx = threadIdx.x; idx < vec_hidden_size; idx += blockDim.x) {
        int id = blockIdx.x * vec_hidden_size + idx;
        _f16Vec<scalar_t, width> temp = input_v[id];
        temp += residual_v[id];
        variance += temp.sum_squares();
        residual_v[id] = temp;
    }
    using BlockReduce = cub::BlockReduce<float, 1024>;
    __shared__ typename BlockReduce::TempStorage reduceStore;
    variance = BlockReduce(reduceStore).Reduce(variance, CubAddOp{}, blockDim.x);
    if (threadIdx.x == 0) s_variance = rsqrtf(variance / hidden_size + epsilon);
    __syncthreads();
    for (int idx = threadIdx.x; idx < vec_hidden_size; idx += blockDim.x) {
        int id = blockIdx.x * vec_hidden_size + idx;
        _f16Vec<scalar_t, width> temp = residual_v[id];
        temp *= s_variance;
        temp *= weight_v[idx];
        input_v[id] = temp;
    }
}
}  // namespace engine
