// Weighted sum of neighbours, zeros outside: a tile of 256 elements and a halo of RADIUS on each side in shared
// memory; blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int BLOCK = 256;

template <typename T, int Radius>
__global__ void stencil_1d(T* __restrict__ out, const T* __restrict__ x, const float* __restrict__ weights,
                           long long count, int radius) {
    __shared__ float tile[BLOCK + 2 * Radius];
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    const int local = threadIdx.x + Radius;
    tile[local] = i < count ? static_cast<float>(x[i]) : 0.0f;
    if (threadIdx.x < Radius) {
        tile[local - Radius] = i >= Radius ? static_cast<float>(x[i - Radius]) : 0.0f;
        tile[local + BLOCK] = i + BLOCK < count ? static_cast<float>(x[i + BLOCK]) : 0.0f;
    }
    __syncthreads();
    if (i < count) {
        float sum = 0.0f;
        for (int k = -Radius; k <= Radius; ++k) sum += weights[k + Radius] * tile[local + k];
        out[i] = static_cast<T>(sum);
    }
}
