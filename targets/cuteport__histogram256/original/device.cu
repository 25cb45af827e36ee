#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
#else
#include <cstdint>
#include <sys/types.h>
#endif

#define NUM_BINS 256
#line 20 "histogram256.cu"
__global__ void histogram256(const uint8_t *data, uint32_t *bins, uint32_t n)
{
    __shared__ uint32_t local[NUM_BINS];
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();

    const uint32_t tid = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t stride = gridDim.x * blockDim.x;

    // four bytes per load; data comes from cudaMalloc, so it is aligned
    const uchar4 *quads = (const uchar4 *)data;
    for (uint32_t i = tid; i < n / 4; i += stride) {
        uchar4 q = quads[i];
        atomicAdd(&local[q.x], 1u);
        atomicAdd(&local[q.y], 1u);
        atomicAdd(&local[q.z], 1u);
        atomicAdd(&local[q.w], 1u);
    }
    // the last n % 4 bytes
    if (tid < (n & 3))
        atomicAdd(&local[data[(n & ~3u) + tid]], 1u);
    __syncthreads();

    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x)
        if (local[b] != 0)
            atomicAdd(bins + b, local[b]);
}
