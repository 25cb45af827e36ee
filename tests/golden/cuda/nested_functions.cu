// Device functions four deep, overloads, default arguments, a function that returns nothing early.
#include <cuda_runtime.h>

__device__ int base(int v) { return v * 2; }
__device__ float base(float v) { return v * 0.5f; }
__device__ int second(int v, int add = 3) { return base(v) + add; }

__device__ void store_positive(int *where, int v)
{
    if (v <= 0) {
        *where = 0;
        return;
    }
    *where = v;
}

__device__ static inline int third(int v)
{
    if (v > 100)
        return second(v, 1);
    return second(v) + (int)base(1.0f * v);
}

__device__ void fourth(int *out, int v) { store_positive(out, third(v) - 10); }

__global__ void nested_functions(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    fourth(&out[i], x[i] & 255);
}

void run(int *out, const int *x, int n) { nested_functions<<<(n + 127) / 128, 128>>>(out, x, n); }
