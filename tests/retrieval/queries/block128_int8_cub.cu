#include <cub/block/block_reduce.cuh>
#include <cuda_fp16.h>

template <typename T, int SIDE>
__global__ void blockwise_int8(int8_t* q, T* scales, const T* m, int ld, int h, int w) {
    using Max = cub::BlockReduce<float, 256>;
    __shared__ typename Max::TempStorage storage;
    __shared__ float amax;
    const int r0 = blockIdx.y * SIDE, c0 = blockIdx.x * SIDE;
    float mine = 0.f;
    for (int t = threadIdx.x; t < SIDE * SIDE; t += 256) {
        const int r = r0 + t / SIDE, c = c0 + t % SIDE;
        if (r < h && c < w) mine = fmaxf(mine, fabsf(float(m[r * ld + c])));
    }
    const float all = Max(storage).Reduce(mine, cub::Max());
    if (threadIdx.x == 0) {
        amax = all;
        scales[blockIdx.y * gridDim.x + blockIdx.x] = T(all / 127.f);
    }
    __syncthreads();
    const float inv = amax > 0 ? 127.f / amax : 0.f;
    for (int t = threadIdx.x; t < SIDE * SIDE; t += 256) {
        const int r = r0 + t / SIDE, c = c0 + t % SIDE;
        if (r < h && c < w) q[r * ld + c] = (int8_t)rintf(float(m[r * ld + c]) * inv);
    }
}
template __global__ void blockwise_int8<half, 64>(int8_t*, half*, const half*, int, int, int);
