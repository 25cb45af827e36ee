#include <cub/cub.cuh>

// expert histogram in shared memory, then starts of experts by an exclusive scan over the block
template <int THREADS>
__global__ void expert_starts(int* begin, int* num, const int* assignment, int n, int n_expert) {
    typedef cub::BlockScan<int, THREADS> Scan;
    __shared__ typename Scan::TempStorage tmp;
    __shared__ int bins[THREADS];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += THREADS) {
        int e = assignment[i];
        if (e >= 0) atomicAdd(&bins[e], 1);
    }
    __syncthreads();
    int mine = threadIdx.x < n_expert ? bins[threadIdx.x] : 0, before;
    Scan(tmp).ExclusiveSum(mine, before);
    if (threadIdx.x < n_expert) {
        begin[threadIdx.x] = before;
        num[threadIdx.x] = mine;
    }
    if (threadIdx.x == n_expert - 1) begin[n_expert] = before + mine;
}
template __global__ void expert_starts<256>(int*, int*, const int*, int, int);
