// Two arrays of different types carved out of one dynamic shared buffer.
#include <cuda_runtime.h>

__global__ void shared_dynamic(float *out, const float *x, int n)
{
    extern __shared__ unsigned char raw[];
    float *values = (float *)raw;
    short *order = (short *)(values + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = i < n ? x[i] : -1.0f;
    order[t] = (short)(blockDim.x - 1 - t);
    __syncthreads();
    if (i < n)
        out[i] = values[order[t]] + order[(t + 1) % blockDim.x];
}

void run(float *out, const float *x, int n)
{
    int block = 64;
    shared_dynamic<<<(n + block - 1) / block, block, block * (sizeof(float) + sizeof(short))>>>(out, x, n);
}
