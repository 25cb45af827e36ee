#include <cooperative_groups.h>
#include <cuda_bf16.h>
namespace cg = cooperative_groups;

// Cooperative launch. Phase 1 counts, phase 2 starts of experts, phase 3 moves hidden states.
__global__ void permute_fused(uint4* sorted_hidden, int* start, int* histogram, int* position, const uint4* hidden,
                              const int* expert_of, int T, int K, int E, int H8) {
    cg::grid_group grid = cg::this_grid();
    const int n = T * K;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) position[i] = atomicAdd(&histogram[expert_of[i]], 1);
    grid.sync();
    if (grid.thread_rank() == 0) {
        int run = 0;
        for (int e = 0; e < E; e++) {
            start[e] = run;
            run += (histogram[e] + 127) & ~127;
        }
        start[E] = run;
    }
    grid.sync();
    for (int i = blockIdx.x; i < n; i += gridDim.x) {
        const size_t to = start[expert_of[i]] + position[i];
        const size_t from = i / K;
        for (int c = threadIdx.x; c < H8; c += blockDim.x) sorted_hidden[to * H8 + c] = hidden[from * H8 + c];
    }
}
