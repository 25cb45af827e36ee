#include <cuda_fp16.h>

#define WARP 32
// each warp takes one (token, choice) and puts the token's activations into the expert's buffer
extern "C" __global__ void moe_scatter(__half* buf, int* cursor, int* dest, const __half* act, const int* top_e,
                                       const int* expert_begin, int n_choices, int K, int dim) {
    int warp_id = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    int lane = threadIdx.x & (WARP - 1);
    if (warp_id >= n_choices) return;
    int slot = 0;
    if (lane == 0) {
        int e = top_e[warp_id];
        slot = e < 0 ? -1 : expert_begin[e] + atomicAdd(cursor + e, 1);
        dest[warp_id] = slot;
    }
    slot = __shfl_sync(0xffffffffu, slot, 0);
    if (slot < 0) return;
    const __half2* from = reinterpret_cast<const __half2*>(act + (long)(warp_id / K) * dim);
    __half2* to = reinterpret_cast<__half2*>(buf + (long)slot * dim);
    for (int j = lane; j < dim / 2; j += WARP) to[j] = from[j];
}
