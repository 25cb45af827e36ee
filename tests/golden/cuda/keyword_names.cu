// Names that mean something in Python.
#include <cuda_runtime.h>

#define pass 3

__device__ int len(int lambda, int None) { return lambda * 2 + None; }

__global__ void range(int *in, const int *is, int print, const int None, int lambda, int n)
{
    int def = blockIdx.x * blockDim.x + threadIdx.x;
    if (def >= n) return;
    int from = is[def], self = 1, cute = 2, cutlass = 4, Int32 = 8, range_ = 16;
    int and_ = from & print, yield = len(from & 255, None);
    for (int int_ = 0; int_ < pass; int_++) {
        int global = int_ + lambda;
        yield += global;
    }
    in[def] = and_ + yield + self + cute + cutlass + Int32 + range_;
}

void run(int *in, const int *is, int n) { range<<<(n + 127) / 128, 128>>>(in, is, 12, 34, 56, n); }
