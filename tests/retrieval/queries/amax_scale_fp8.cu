#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
namespace cg = cooperative_groups;

__device__ __forceinline__ float atomicMaxFloat(float* addr, float value) {
    return value >= 0 ? __int_as_float(atomicMax((int*)addr, __float_as_int(value)))
                      : __uint_as_float(atomicMin((unsigned*)addr, __float_as_uint(value)));
}

// scale of a tensor for e4m3: segments reduced by tiles, combined in global memory
__global__ void segmented_max_reduction(float* scale, const __nv_bfloat162* input, int64_t pairs) {
    cg::thread_block_tile<32> w = cg::tiled_partition<32>(cg::this_thread_block());
    float tmp = 0.f;
    for (int64_t i = (int64_t)blockDim.x * blockIdx.x + threadIdx.x; i < pairs; i += (int64_t)gridDim.x * blockDim.x) {
        float2 f = __bfloat1622float2(__habs2(input[i]));
        tmp = fmaxf(tmp, fmaxf(f.x, f.y));
    }
    tmp = cg::reduce(w, tmp, cg::greater<float>());
    if (w.thread_rank() == 0) atomicMaxFloat(scale, tmp / 448.f);
}
