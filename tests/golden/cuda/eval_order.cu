// Sub-expressions with side effects on different variables, and a value read before it is changed.
#include <cuda_runtime.h>

__device__ int next(unsigned &state)
{
    state = state * 1664525u + 1013904223u;
    return state >> 24;
}

__global__ void eval_order(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = (unsigned)x[i], b = a ^ 0xabcdu;
    int r = next(a) * 3 - next(b);
    int old = r;
    r += old > 50 ? next(a) : (int)(b >> 8 & 255);
    int slot[4] = {0, 0, 0, 0};
    slot[r & 3] = r = r / 2;  // the right side first
    int q[2] = {next(a), next(a)};  // braces: left to right
    out[i] = r + slot[0] + 2 * slot[1] + 3 * slot[2] + 4 * slot[3] + q[0] * 5 + q[1] * 7;
}

void run(int *out, const int *x, int n) { eval_order<<<(n + 127) / 128, 128>>>(out, x, n); }
