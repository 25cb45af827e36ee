#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

#define TANH_GELU(x) (0.5f * (x) * (1.f + tanhf(0.7978845608f * ((x) + 0.044715f * (x) * (x) * (x)))))

template <typename scalar_t>
struct TanhGelu {
    __device__ scalar_t operator()(const scalar_t& v) const { return (scalar_t)TANH_GELU((float)v); }
};

template <typename scalar_t, class ActFn>
__global__ void act_times_gate(scalar_t* __restrict__ y, const scalar_t* __restrict__ a, const scalar_t* __restrict__ gate,
                               const int64_t numel) {
    ActFn fn;
    const int64_t stride = (int64_t)blockDim.x * gridDim.x;
    for (int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; n < numel; n += stride) {
        y[n] = fn(gate[n]) * a[n];
    }
}

void geglu(torch::Tensor& y, torch::Tensor& a, torch::Tensor& gate) {
    act_times_gate<float, TanhGelu<float>><<<1024, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        y.data_ptr<float>(), a.data_ptr<float>(), gate.data_ptr<float>(), y.numel());
}
