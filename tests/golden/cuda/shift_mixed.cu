// Shifts take their type from the left operand alone; >> of a signed one keeps the sign.
#include <cuda_runtime.h>

__global__ void shift_mixed(long long *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    unsigned u = v;
    unsigned char k = v & 15;
    long long wide = 5;
    long long r = v >> k;
    r += u >> k;
    r += (long long)(u << 4) << (k + 3ULL);
    r ^= (long long)v >> 33;
    r += wide << (k + 20);
    short s = (short)v;
    s >>= 3;
    u >>= 1;
    u <<= k;
    r += s + (long long)u;
    r += 1u << 31 >> (k + 1);
    out[i] = r;
}

void run(long long *out, const int *x, int n) { shift_mixed<<<(n + 127) / 128, 128>>>(out, x, n); }
