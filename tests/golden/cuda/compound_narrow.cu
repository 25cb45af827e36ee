// Compound assignment computes in the common type, then converts back: int op= float, char op= int.
#include <cuda_runtime.h>

__global__ void compound_narrow(int *out, signed char *bytes, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 1023;
    v *= 1.5f;
    v += 0.75;
    v /= 2.0f;
    unsigned u = 10;
    u += -3;
    u /= -1;  // by 4294967295
    short s = 32000;
    s += v;
    bytes[i] += 100;
    bytes[i] <<= 1;
    bytes[i] >>= 1;
    float f = 3;
    f -= v % 5;
    out[i] = v + (int)u * 7 + s + (int)(f * 8);
}

void run(int *out, signed char *bytes, const int *x, int n) { compound_narrow<<<(n + 127) / 128, 128>>>(out, bytes, x, n); }
