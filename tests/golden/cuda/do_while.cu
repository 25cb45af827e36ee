// do runs its body once even where the condition is false from the start.
#include <cuda_runtime.h>

__global__ void do_while(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = (unsigned)x[i];
    int digits = 0;
    do {
        digits++;
        v /= 10;
    } while (v != 0);
    int passes = 0;
    do passes++; while (false);
    out[i] = digits * 10 + passes;
}

void run(int *out, const int *x, int n) { do_while<<<(n + 127) / 128, 128>>>(out, x, n); }
