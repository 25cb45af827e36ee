// Signed / and % truncate towards zero; the remainder has the dividend's sign.
#include <cuda_runtime.h>

__global__ void div_mod_negative(int *out, const int *x, const long long *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = x[i] >> 3;
    int b = (int)(y[i] % 17) | 1;
    int r = a / b * 3 + a % b;
    r += a / -7 + a % -7;
    r += a / 8 - a % 8;
    r ^= (int)(y[i] / 1000003) ^ (int)(y[i] % -1000003);
    a %= 10;
    a /= -3;
    out[i] = r ^ a;
}

void run(int *out, const int *x, const long long *y, int n) { div_mod_negative<<<(n + 127) / 128, 128>>>(out, x, y, n); }
