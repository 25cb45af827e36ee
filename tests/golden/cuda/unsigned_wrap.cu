// Unsigned arithmetic wraps, compares unsigned, and turns a signed operand unsigned.
#include <cuda_runtime.h>

__global__ void unsigned_wrap(unsigned *out, const unsigned *x, const int *y, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned u = x[i];
    int s = y[i];
    unsigned r = u - 1u;
    r = r * 2654435761u + 12345u;
    r ^= -u;
    if (u - 10 > 5)
        r += 1;
    if (s < u)  // s as unsigned
        r += 2;
    if (s / 2u > 1000000000u)
        r += 4;
    r += u > 0x80000000 ? u >> 31 : u / 3 + u % 7;
    out[i] = r;
}

void run(unsigned *out, const unsigned *x, const int *y, int n) { unsigned_wrap<<<(n + 127) / 128, 128>>>(out, x, y, n); }
