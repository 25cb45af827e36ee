// The scale of a whole tensor: scale = max(scale, max_i |x[i]| / Largest), for positive scales.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, int Largest>
__global__ void tensor_scale(float* scale, const T* __restrict__ x, long long count) {
    __shared__ int warp_most[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    // Bits of magnitudes order as the magnitudes do, NaN above all.
    int bits = 0;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
        bits = max(bits, __float_as_int(fabsf(static_cast<float>(x[i]))));
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) bits = max(bits, __shfl_xor_sync(0xffffffff, bits, mask));
    if (lane == 0) warp_most[warp] = bits;
    __syncthreads();
    if (warp == 0) {
        bits = lane < (blockDim.x >> 5) ? warp_most[lane] : 0;
#pragma unroll
        for (int mask = 16; mask > 0; mask >>= 1) bits = max(bits, __shfl_xor_sync(0xffffffff, bits, mask));
        if (lane == 0) atomicMax(reinterpret_cast<int*>(scale), __float_as_int(__int_as_float(bits) / Largest));
    }
}
