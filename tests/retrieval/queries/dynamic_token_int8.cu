#include <cub/cub.cuh>
#include <cuda_fp16.h>
#include <stdint.h>

static inline __device__ int8_t float_to_int8_rn(float x) {
    uint32_t dst;
    asm volatile("cvt.rni.sat.s8.f32 %0, %1;\n" : "=r"(dst) : "f"(x));
    return reinterpret_cast<const int8_t&>(dst);
}

__global__ void dynamic_scaled_int8(const half* __restrict__ in, int8_t* __restrict__ out, float* token_scale, const int hidden_size) {
    const int tid = threadIdx.x;
    const int64_t token_idx = blockIdx.x;
    float absmax_val = 0.0f;
    for (int i = tid; i < hidden_size; i += blockDim.x) {
        float val = __half2float(in[token_idx * hidden_size + i]);
        val = val > 0.f ? val : -val;
        absmax_val = val > absmax_val ? val : absmax_val;
    }
    using BlockReduce = cub::BlockReduce<float, 1024>;
    __shared__ typename BlockReduce::TempStorage reduceStorage;
    const float block_absmax = BlockReduce(reduceStorage).Reduce(absmax_val, cub::Max{}, blockDim.x);
    __shared__ float bcast;
    if (tid == 0) {
        bcast = block_absmax;
        token_scale[token_idx] = block_absmax / 127.0f;
    }
    __syncthreads();
    const float tmp = 127.0f / bcast;
    for (int i = tid; i < hidden_size; i += blockDim.x)
        out[token_idx * hidden_size + i] = float_to_int8_rn(__half2float(in[token_idx * hidden_size + i]) * tmp);
}
