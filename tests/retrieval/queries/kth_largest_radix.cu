#include <stdint.h>

__device__ uint32_t flip(float f) {
    uint32_t u = __float_as_uint(f);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

// keep the k largest of every row: digits from the top, a 256-bin histogram each, then collect
__global__ void select_k(float* kept, int* where, const float* rows, int len, int k) {
    __shared__ int bin[256];
    __shared__ int digit, left, fill;
    const float* r = rows + (size_t)blockIdx.x * len;
    uint32_t prefix = 0, mask = 0;
    if (threadIdx.x == 0) { left = k; fill = 0; }
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int b = threadIdx.x; b < 256; b += blockDim.x) bin[b] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < len; i += blockDim.x) {
            uint32_t u = flip(r[i]);
            if ((u & mask) == prefix) atomicAdd(&bin[(u >> shift) & 255], 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int d = 255;
            while (bin[d] < left) left -= bin[d--];
            digit = d;
        }
        __syncthreads();
        prefix |= (uint32_t)digit << shift;
        mask |= 255u << shift;
    }
    for (int i = threadIdx.x; i < len; i += blockDim.x)
        if (flip(r[i]) > prefix) {
            int at = atomicAdd(&fill, 1);
            kept[blockIdx.x * k + at] = r[i];
            where[blockIdx.x * k + at] = i;
        }
    __syncthreads();
    for (int i = threadIdx.x; i < len; i += blockDim.x)
        if (flip(r[i]) == prefix) {
            int at = atomicAdd(&fill, 1);
            if (at < k) { kept[blockIdx.x * k + at] = r[i]; where[blockIdx.x * k + at] = i; }
        }
}
