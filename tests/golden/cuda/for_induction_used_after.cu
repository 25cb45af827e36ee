// The counter's value after the loop: run out, broken off, and never entered.
#include <cuda_runtime.h>

__global__ void for_induction_used_after(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 15;
    int a, b, c = 9, d;
    for (a = 0; a < v; a += 4)
        ;
    for (b = 0; b < 20; b++)
        if (b * b >= v * 3)
            break;
    for (; c < v; c++) {
    }
    for (d = v; d > 0; d /= 2)
        out[i] = d;
    out[i] = a + 32 * b + 1024 * c + 65536 * d;
}

void run(int *out, const int *x, int n) { for_induction_used_after<<<(n + 127) / 128, 128>>>(out, x, n); }
