#include <cub/warp/warp_reduce.cuh>

#line 4 "cub_warp_reduce.cu"
__global__ void warp_max(const float *in, float *largest, int warps) {
    using Reduce = cub::WarpReduce<float>;
    __shared__ typename Reduce::TempStorage storage[4];
    int warp = blockIdx.x * 4 + threadIdx.x / 32;
    if (warp >= warps) return;
    float value = in[warp * 32 + threadIdx.x % 32];
    float top = Reduce(storage[threadIdx.x / 32]).Reduce(value, [](float a, float b) { return a > b ? a : b; });
    if (threadIdx.x % 32 == 0) largest[warp] = top;
}
