// Conversions: int to float and back, large values, unsigned to float, double to int, NaN and infinity.
#include <cuda_runtime.h>
#include <math.h>

__global__ void convert_edges(int *out, float *fout, const int *x, const float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    float f = v;                       // rounds above 2^24
    float g = (unsigned)v;             // never negative
    long long wide = (long long)v * 3;
    double d = wide;
    int back = (int)(d / 3.0);
    unsigned char low = (unsigned char)v;
    float q = y[i];
    float inf = q > 0.0f ? INFINITY : -INFINITY;
    int special = isnan(inf - inf) + 2 * isinf(inf) + 4 * (inf > 3.4e38f) + 8 * signbit(q * 0.0f);
    fout[i] = f * 0.5f + g + (float)wide;
    out[i] = (back == v) + 2 * ((int)f == v) + low * 4 + special * 4096;
}

void run(int *out, float *fout, const int *x, const float *y, int n) { convert_edges<<<(n + 127) / 128, 128>>>(out, fout, x, y, n); }
