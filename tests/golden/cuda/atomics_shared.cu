// Atomics on shared memory whose returned value is used.
#include <cuda_runtime.h>

__global__ void atomics_shared(int *out, int *count, const int *x, int n)
{
    __shared__ int taken;
    __shared__ unsigned seen[4];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (t == 0) taken = 0;
    if (t < 4) seen[t] = 0u;
    __syncthreads();
    if (i < n && x[i] > 0) {
        int slot = atomicAdd(&taken, 1);
        atomicOr(&seen[slot >> 5], 1u << (slot & 31));
    }
    __syncthreads();
    if (i < n)
        out[i] = __popc(seen[t >> 5]);
    if (t == 0)
        count[blockIdx.x] = atomicExch(&taken, -1);
}

void run(int *out, int *count, const int *x, int n) { atomics_shared<<<(n + 127) / 128, 128>>>(out, count, x, n); }
