// Gated activation of rows, one block a row:
//
//   out[r][i] = act(gate[r][i]) * up[r][i]
//
// x has gate and up in halves of a row, or interleaved: gate 0, up 0, gate 1, up 1, ...
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum Activation { RELU, GELU, GELU_TANH, SILU };

__device__ __forceinline__ float activate(float x, int activation) {
    switch (activation) {
        case RELU:
            return fmaxf(x, 0.0f);
        case GELU:
            return 0.5f * x * (1.0f + erff(x * 0.70710678f));
        case GELU_TANH:
            return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
        default:
            return x / (1.0f + expf(-x));
    }
}

template <typename T>
__global__ void gated_activation(T* __restrict__ out, const T* __restrict__ x, int activation, bool interleaved,
                                 int rows, int inter, long long x_stride, long long out_stride) {
    const T* x_row = x + blockIdx.x * x_stride;
    T* out_row = out + blockIdx.x * out_stride;
    for (int i = threadIdx.x; i < inter; i += blockDim.x) {
        const float gate = static_cast<float>(interleaved ? x_row[2 * i] : x_row[i]);
        const float up = static_cast<float>(interleaved ? x_row[2 * i + 1] : x_row[inter + i]);
        out_row[i] = static_cast<T>(activate(gate, activation) * up);
    }
}
