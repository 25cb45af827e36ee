#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <float.h>
namespace cg = cooperative_groups;

// 256 threads = 256 experts = 8 groups of 32; one block a token
__global__ void node_limited_router(float* w_out, int* e_out, const __nv_bfloat16* gate, const float* correction, int keep_groups,
                                    int K, float routed_scaling) {
    cg::thread_block blk = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(blk);
    __shared__ float group_score[8];
    __shared__ unsigned long long winner[8];
    const int e = threadIdx.x;
    const float prob = 1.f / (1.f + __expf(-__bfloat162float(gate[blockIdx.x * 256 + e])));
    float biased = prob + correction[e];
    const float top1 = cg::reduce(tile, biased, cg::greater<float>());
    const int holder = __ffs(tile.ballot(biased == top1)) - 1;
    const float top2 = cg::reduce(tile, (int)tile.thread_rank() == holder ? -FLT_MAX : biased, cg::greater<float>());
    if (tile.thread_rank() == 0) group_score[e / 32] = top1 + top2;
    blk.sync();
    int ahead = 0;
    for (int g = 0; g < 8; g++) ahead += group_score[g] > group_score[e / 32];
    if (ahead >= keep_groups) biased = -FLT_MAX;
    float denom = 0.f;
    for (int k = 0; k < K; k++) {
        unsigned long long key = ((unsigned long long)__float_as_uint(biased + 16.f) << 32) | (255 - e);
        key = cg::reduce(tile, key, cg::greater<unsigned long long>());
        if (tile.thread_rank() == 0) winner[e / 32] = key;
        blk.sync();
        for (int g = 0; g < 8; g++) key = key > winner[g] ? key : winner[g];
        const int picked = 255 - (int)(key & 0xff);
        if (picked == e) {
            biased = -8.f;
            w_out[blockIdx.x * K + k] = prob * routed_scaling;
            e_out[blockIdx.x * K + k] = e;
        }
        blk.sync();
    }
}
