// bool as a number, a number as bool, and the operators on it.
#include <cuda_runtime.h>

__global__ void bool_values(int *out, bool *flags, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    bool a = v & 6;  // 1, not 6
    bool b = !v;
    bool c = a ^ b;
    bool d = v > 0 == a;
    flags[i] = a & c | d;
    flags[i] &= v != 12;
    a |= v < 0;
    out[i] = a + b * 2 + c * 4 + (d ? 8 : 0) + (!!v << 4) + (bool)(v * 0.25f) * 32 + flags[i] * 64 + !a * 128;
}

void run(int *out, bool *flags, const int *x, int n) { bool_values<<<(n + 127) / 128, 128>>>(out, flags, x, n); }
