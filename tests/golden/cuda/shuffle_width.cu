// All four shuffles with widths below 32, and of 64-bit and float values.
#include <cuda_runtime.h>

__global__ void shuffle_width(int *out, const int *x, float *fout, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? x[i] : 0;
    unsigned r = __shfl_sync(0xffffffff, v, 5, 8);
    r ^= (unsigned)__shfl_up_sync(0xffffffff, v, 3, 16) << 1;
    r ^= (unsigned)__shfl_down_sync(0xffffffff, v, 2, 4) << 2;
    r ^= (unsigned)__shfl_xor_sync(0xffffffff, v, 1, 2) << 3;
    r ^= __shfl_sync(0xffffffff, v, threadIdx.x + 7);
    long long wide = v * 1048576LL;
    r += (unsigned)(__shfl_xor_sync(0xffffffff, wide, 16) >> 20);
    float f = (v & 255) * 0.5f;
    for (int d = 8; d > 0; d >>= 1)
        f += __shfl_down_sync(0xffffffff, f, d, 16);
    if (i < n) {
        out[i] = (int)r;
        fout[i] = f;
    }
}

void run(int *out, const int *x, float *fout, int n) { shuffle_width<<<(n + 127) / 128, 128>>>(out, x, fout, n); }
