// Conditions that assign: while ((v = f()) != 0), and a declaration as a condition.
#include <cuda_runtime.h>

__global__ void while_assign_cond(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned rest = (unsigned)x[i];
    int low, r = 0, guard = 0;
    while ((low = rest & 7) != 3 && guard++ < 10) {
        rest >>= 1;
        r += low;
    }
    unsigned bit;
    while ((bit = __ffs(rest)) && guard < 20) {
        rest &= rest - 1;
        r += bit << 4;
        guard += 2;
    }
    while (int left = 3 - (guard & 3)) {
        r += left * 1000;
        guard++;
    }
    out[i] = r * 4 + (guard & 3) + low;
}

void run(int *out, const int *x, int n) { while_assign_cond<<<(n + 127) / 128, 128>>>(out, x, n); }
