// Pointer variables that move: p += n, p < end, differences, swapping two, a pointer chosen at run time.
#include <cuda_runtime.h>

__global__ void pointer_walk(int *out, const int *x, const int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int *a = x + i, *b = y, *end = x + n;
    int r = 0;
    for (const int *p = a; p < end && p - a < 9; p += 3)
        r += *p & 255;
    for (int k = 0; k < 3; k++) {
        r = r * 2 + ((*a ^ b[i]) & 0xffff);
        const int *t = a;
        a = b + i;
        b = t - i;
    }
    const int *chosen = r & 1 ? x : y;
    out += i;
    *out = r + (chosen[i] & 0xffff) + (int)(end - x);
}

void run(int *out, const int *x, const int *y, int n) { pointer_walk<<<(n + 127) / 128, 128>>>(out, x, y, n); }
