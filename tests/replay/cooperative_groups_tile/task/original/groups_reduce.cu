// Row sums by cg::reduce over a tile of 32 threads, one row each.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void tile_sums(const float *rows, float *sums, int count, int width) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= count) return;
    float own = 0.0f;
    for (int k = tile.thread_rank(); k < width; k += tile.size()) own += rows[row * width + k];
    float all = cg::reduce(tile, own, cg::plus<float>{});
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) sums[row] = all;
}

int main() {
    const int count = 30, width = 70;
    float *rows, *sums;
    cudaMalloc(&rows, count * width * sizeof(float));
    cudaMalloc(&sums, count * sizeof(float));
    tile_sums<<<(count + 3) / 4, 128>>>(rows, sums, count, width);
    cudaDeviceSynchronize();
}
