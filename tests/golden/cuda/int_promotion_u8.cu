// 8 and 16-bit integers are promoted to int for arithmetic, and cut when stored.
#include <cuda_runtime.h>

__global__ void int_promotion_u8(unsigned char *out, const unsigned char *x, const signed char *y, short *wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned char a = x[i];
    signed char b = y[i];
    unsigned char average = (a + 255) / 2;  // no wrap before the division
    unsigned char inverted = ~a >> 1;       // ~ of an int: the ones above bit 7 come in
    a += 200;
    b -= 100;
    short product = (short)(b * 300);
    unsigned short sum = 65535;
    sum += a;
    wide[i] = product + sum;
    out[i] = (average ^ inverted) + (a > b) + (a == (unsigned char)b) * 16;
}

void run(unsigned char *out, const unsigned char *x, const signed char *y, short *wide, int n)
{
    int_promotion_u8<<<(n + 127) / 128, 128>>>(out, x, y, wide, n);
}
