// The address of a scalar: as an argument, kept in a pointer variable, and to look at its bits.
#include <cuda_runtime.h>

__device__ int split(float v, int *exponent)
{
    unsigned bits = *(unsigned *)&v;
    *exponent = (int)(bits >> 23 & 255) - 127;
    return bits & 0x7fffff;
}

__global__ void addr_of_local(int *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int e = 0, other = 5;
    int m = split(x[i], &e);
    int *which = m & 1 ? &e : &other;
    *which += 1000;
    out[i] = m ^ (e * 8) ^ other;
}

void run(int *out, const float *x, int n) { addr_of_local<<<(n + 127) / 128, 128>>>(out, x, n); }
