// Votes: ballot, any, all, and the rank of a thread among those that voted.
#include <cuda_runtime.h>

__global__ void ballot(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int v = i < n ? x[i] : 0;
    unsigned odd = __ballot_sync(0xffffffff, v & 1);
    int any = __any_sync(0xffffffff, v > 100);
    int all = __all_sync(0xffffffff, v < 100000);
    int rank = __popc(odd & ((1u << lane) - 1));
    int first = __ffs(odd);
    __syncwarp();
    if (i < n)
        out[i] = rank + 64 * first + 4096 * (any != 0) + 8192 * (all != 0);
}

void run(int *out, const int *x, int n) { ballot<<<(n + 127) / 128, 128>>>(out, x, n); }
