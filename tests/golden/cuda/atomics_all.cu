// Every atomic on global memory whose result does not depend on the order, and a CAS loop.
#include <cuda_runtime.h>

__device__ void atomic_max_float(float *address, float value)
{
    int *bits = (int *)address;
    int old = *bits, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= value)
            break;
        old = atomicCAS(bits, assumed, __float_as_int(value));
    } while (old != assumed);
}

// r starts as {0, 0, 2147483647, -2147483648, -1, 0, 0, 0, 1000}, wide as {0}, fmax as {-1e30}
__global__ void atomics_all(int *r, unsigned long long *wide, float *fmax, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 0xffff;
    atomicAdd(&r[0], v);
    atomicSub(&r[1], v);
    atomicMin(&r[2], v);
    atomicMax(&r[3], v);
    atomicAnd(&r[4], v | 1);
    atomicOr(&r[5], v);
    atomicXor(&r[6], v);
    atomicInc((unsigned *)&r[7], 6u);
    atomicDec((unsigned *)&r[8], 1000u);
    atomicAdd(wide, (unsigned long long)v << 20);
    atomic_max_float(fmax, v * 0.5f);
}

void run(int *r, unsigned long long *wide, float *fmax, const int *x, int n)
{
    atomics_all<<<(n + 127) / 128, 128>>>(r, wide, fmax, x, n);
}
