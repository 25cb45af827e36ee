// Two rounds of smoothing with a barrier of the whole grid between them: a cooperative launch.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void smooth_twice(const float *in, float *between, float *out, int n) {
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        between[i] = 0.5f * (in[i] + in[(i + 1) % n]);
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        out[i] = 0.5f * (between[i] + between[(i + n - 1) % n]);
}

int main() {
    int n = 2000;
    float *in, *between, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&between, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    void *args[] = {&in, &between, &out, &n};
    cudaLaunchCooperativeKernel((void *)smooth_twice, dim3(4), dim3(128), args, 0, 0);
    cudaDeviceSynchronize();
}
