// Inline PTX that no table row covers.
#include <cuda_runtime.h>

__global__ void refused_inline_asm(unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned r;
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 7; selp.u32 %0, 1, 2, p; }" : "=r"(r) : "r"(i));
    out[i] = r;
}

void run(unsigned *out, int n) { refused_inline_asm<<<(n + 127) / 128, 128>>>(out, n); }
