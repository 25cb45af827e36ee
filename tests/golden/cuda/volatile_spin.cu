// volatile: ticket starts at 0, and the last block to arrive adds up what the others published.
#include <cuda_runtime.h>

__global__ void volatile_spin(int *out, volatile int *partial, unsigned *ticket, const int *x, int n)
{
    __shared__ int sum;
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (i < n) atomicAdd(&sum, x[i] & 1023);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += partial[b];
        *out = total;
    }
}

void run(int *out, int *partial, unsigned *ticket, const int *x, int n)
{
    volatile_spin<<<(n + 127) / 128, 128>>>(out, partial, ticket, x, n);
}
