// The same memory as float and float4, as float and its bits, as int and four bytes.
#include <cuda_runtime.h>

#define LOAD4(p) (*reinterpret_cast<const float4 *>(&(p)))
#define STORE4(p) (*(float4 *)&(p))

__global__ void reinterpret_float4(float *out, const float *x, unsigned *bits, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 >= n) return;
    float4 v = LOAD4(x[i]);
    float t = v.x;
    v.x = v.w;
    v.w = t;
    STORE4(out[i]) = v;
    unsigned word = __float_as_uint(v.y) ^ reinterpret_cast<const unsigned *>(x)[i];
    const unsigned char *bytes = (const unsigned char *)&word;
    bits[i / 4] = bytes[0] + 3u * bytes[1] + 5u * bytes[2] + 7u * bytes[3];
}

void run(float *out, const float *x, unsigned *bits, int n)
{
    reinterpret_float4<<<(n / 4 + 127) / 128, 128>>>(out, x, bits, n);
}
