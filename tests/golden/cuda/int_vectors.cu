// int2, uint4, uchar4, short2: packing, unpacking, conversion between them.
#include <cuda_runtime.h>

__global__ void int_vectors(uint4 *out, const int2 *x, const uchar4 *c, short2 *s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 v = x[i];
    uchar4 q = c[i];
    q.x += 100;
    q.w = (unsigned char)(q.y - q.z);
    uint4 r = make_uint4(v.x, v.y, v.x ^ v.y, 0);
    r.w = q.x | q.y << 8 | q.z << 16 | (unsigned)q.w << 24;
    out[i] = r;
    s[i] = make_short2((short)v.x, (short)(v.y >> 16));
}

void run(uint4 *out, const int2 *x, const uchar4 *c, short2 *s, int n) { int_vectors<<<(n + 127) / 128, 128>>>(out, x, c, s, n); }
