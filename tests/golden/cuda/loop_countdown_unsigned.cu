// Loops that count down, the unsigned ones to the edge where k >= 0 would never end.
#include <cuda_runtime.h>

__global__ void loop_countdown_unsigned(int *out, const int *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned count = x[i] & 15;
    int r = 0;
    for (unsigned k = count; k-- > 0;)
        r = r * 3 + (int)k;
    for (unsigned k = count; k != 0; k -= 1)
        r ^= (int)k << 2;
    for (unsigned k = count; k < 16u; k--)  // ends by wrapping below zero
        r += 1;
    for (int k = (int)count; k >= 0; k -= 4)
        r += k;
    unsigned char c = 5;
    while (c-- > 2)
        r += c;
    r += c;
    out[i] = r;
}

void run(int *out, const int *x, unsigned n) { loop_countdown_unsigned<<<(n + 127) / 128, 128>>>(out, x, n); }
