#include <cuda_fp16.h>

#line 11 "rmsnorm.cu"
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T val[N];
};

#line 16 "rmsnorm.cu"
template <typename T>
__device__ __forceinline__ float to_float(T v) { return static_cast<float>(v); }

#line 18 "rmsnorm.cu"
template <>
__device__ __forceinline__ float to_float<__half>(__half v) { return __half2float(v); }

#line 21 "rmsnorm.cu"
template <typename T>
__device__ __forceinline__ T from_float(float v) { return static_cast<T>(v); }

#line 23 "rmsnorm.cu"
template <>
__device__ __forceinline__ __half from_float<__half>(float v) { return __float2half(v); }

#line 26 "rmsnorm.cu"
template <typename T, int VEC>
__global__ void rmsnorm(T* __restrict__ out, const T* __restrict__ x, const T* __restrict__ weight,
                        float eps, int hidden) {
    using P = Pack<T, VEC>;
    const int packs = hidden / VEC;
    const P* x_row = reinterpret_cast<const P*>(x + static_cast<size_t>(blockIdx.x) * hidden);
    const P* w_row = reinterpret_cast<const P*>(weight);
    P* out_row = reinterpret_cast<P*>(out + static_cast<size_t>(blockIdx.x) * hidden);

    float acc = 0.0f;
    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
        const P p = x_row[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            const float f = to_float(p.val[j]);
            acc += f * f;
        }
    }

#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) acc += __shfl_xor_sync(0xffffffff, acc, mask);

    __shared__ float warp_acc[32];
    __shared__ float s_scale;
    if ((threadIdx.x & 31) == 0) warp_acc[threadIdx.x >> 5] = acc;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < (blockDim.x + 31) / 32; ++w) total += warp_acc[w];
        s_scale = rsqrtf(total / hidden + eps);
    }
    __syncthreads();
    const float scale = s_scale;

    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
        const P p = x_row[i];
        const P w = w_row[i];
        P r;
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            r.val[j] = from_float<T>(to_float(p.val[j]) * scale * to_float(w.val[j]));
        out_row[i] = r;
    }
}
