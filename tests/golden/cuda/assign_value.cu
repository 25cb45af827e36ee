// Assignments used as values; a compound one converts back to its narrow target first.
#include <cuda_runtime.h>

__global__ void assign_value(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a, b, c;
    a = b = c = x[i] & 1023;
    unsigned char narrow = 250;
    int wide = (narrow += a);  // modulo 256
    int k;
    if ((k = a & 7) > 3)
        b += k;
    else
        c -= k;
    int last = (a += 3) * (b -= 1);
    out[i] = last + wide * 7 + (c <<= 1);
}

void run(int *out, const int *x, int n) { assign_value<<<(n + 127) / 128, 128>>>(out, x, n); }
