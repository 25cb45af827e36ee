// 256-bin histogram of bytes. Each block counts in shared memory and adds its counts to the global
// bins at the end, so the global atomics are 256 per block whatever n is.

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NUM_BINS 256

#define CUDA_CHECK(call)                                                               \
    do {                                                                               \
        cudaError_t err_ = (call);                                                     \
        if (err_ != cudaSuccess) {                                                     \
            printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));        \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

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

int main(void)
{
    const uint32_t n = (1 << 22) + 3;
    uint8_t *h = new uint8_t[n];
    for (uint32_t i = 0; i < n; i++)
        h[i] = (uint8_t)(i * 2654435761u >> 24);

    uint8_t *data;
    uint32_t *bins;
    CUDA_CHECK(cudaMalloc(&data, n));
    CUDA_CHECK(cudaMalloc(&bins, NUM_BINS * sizeof(uint32_t)));
    CUDA_CHECK(cudaMemcpy(data, h, n, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(bins, 0, NUM_BINS * sizeof(uint32_t)));

    uint32_t blocks = min((n + 1023) / 1024, 1056u);
    histogram256<<<blocks, 256>>>(data, bins, n);
    CUDA_CHECK(cudaGetLastError());

    uint32_t out[NUM_BINS];
    CUDA_CHECK(cudaMemcpy(out, bins, sizeof(out), cudaMemcpyDeviceToHost));
    uint64_t total = 0;
    for (int b = 0; b < NUM_BINS; b++)
        total += out[b];
    printf("%llu of %u\n", (unsigned long long)total, n);
    delete[] h;
    return total != n;
}
