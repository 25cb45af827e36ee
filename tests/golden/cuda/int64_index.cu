// 64-bit indices, and 32-bit factors of which one is widened before the product.
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

__global__ void int64_index(float *out, const float *x, const int64_t *where, long long n, int pitch)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)n) return;
    int64_t w = where[i] & 0xff;
    long long back = n - 1 - (long long)i;
    size_t at = (size_t)pitch * w % (size_t)n;
    const float *p = x + n;
    out[i] = x[at] + p[-1 - (long long)i] * 2.0f + x[back] + (float)((int64_t)pitch * 1000000000 >> 32);
}

void run(float *out, const float *x, const int64_t *where, long long n)
{
    int64_index<<<(unsigned)((n + 127) / 128), 128>>>(out, x, where, n, 7);
}
