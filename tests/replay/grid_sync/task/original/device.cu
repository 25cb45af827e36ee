#include <cooperative_groups.h>

namespace cg = cooperative_groups;
#line 6 "groups_grid.cu"
__global__ void smooth_twice(const float *in, float *between, float *out, int n) {
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        between[i] = 0.5f * (in[i] + in[(i + 1) % n]);
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        out[i] = 0.5f * (between[i] + between[(i + n - 1) % n]);
}
