/*
 * Partial sums of a vector, one per block, in dynamic shared memory (blockDim.x floats; blockDim.x a
 * power of two, at least 64). The host, or a second launch on the partial sums, adds the rest.
 */
#include <cuda_runtime.h>
#include <stdio.h>

extern __shared__ float sdata[];

__global__ void reduce_sum(const float *g_in, float *g_out, unsigned int n)
{
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;

    float sum = 0;
    while (i < n) {
        sum += g_in[i];
        if (i + blockDim.x < n)
            sum += g_in[i + blockDim.x];
        i += grid_size;
    }
    sdata[tid] = sum;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            sdata[tid] = sum = sum + sdata[tid + s];
        __syncthreads();
    }

    if (tid < 32) {
        sum += sdata[tid + 32];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (tid == 0)
            g_out[blockIdx.x] = sum;
    }
}

int main()
{
    unsigned int n = 1000003;
    int threads = 256;
    int blocks = (n + threads * 2 - 1) / (threads * 2);
    if (blocks > 1024)
        blocks = 1024;

    float *h = (float *)malloc(n * sizeof(float));
    for (unsigned int i = 0; i < n; i++) h[i] = 1.0f;
    float *d_in, *d_out;
    cudaMalloc((void **)&d_in, n * sizeof(float));
    cudaMalloc((void **)&d_out, blocks * sizeof(float));
    cudaMemcpy(d_in, h, n * sizeof(float), cudaMemcpyHostToDevice);

    reduce_sum<<<blocks, threads, threads * sizeof(float)>>>(d_in, d_out, n);

    cudaMemcpy(h, d_out, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    double total = 0;
    for (int b = 0; b < blocks; b++) total += h[b];
    printf("%.0f (expected %u)\n", total, n);
    free(h);
    cudaFree(d_in);
    cudaFree(d_out);
    return total != n;
}
