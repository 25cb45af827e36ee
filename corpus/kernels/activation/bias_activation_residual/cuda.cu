// What follows a matrix product, one block a row:
//
//   out[r][i] = act(x[r][i] + bias[i]) + residual[r][i]
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
__global__ void bias_activation_residual(T* out, const T* x, const T* __restrict__ bias, const T* residual,
                                         int activation, int rows, int columns, long long x_stride,
                                         long long residual_stride, long long out_stride) {
    const T* x_row = x + blockIdx.x * x_stride;
    const T* residual_row = residual + blockIdx.x * residual_stride;
    T* out_row = out + blockIdx.x * out_stride;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float v = static_cast<float>(x_row[i]) + static_cast<float>(bias[i]);
        out_row[i] = static_cast<T>(activate(v, activation) + static_cast<float>(residual_row[i]));
    }
}
