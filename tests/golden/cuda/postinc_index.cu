// Old and new value of ++ and -- inside subscripts, and *p++.
#include <cuda_runtime.h>

__global__ void postinc_index(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int buf[8];
    int k = 0;
    buf[k++] = x[i];
    buf[k++] = k;
    buf[k] = 5;
    buf[++k] = 7;
    for (int j = 4; j < 8;)
        buf[j++] = j;
    int *p = buf;
    int sum = *p++;
    sum ^= *++p;
    sum ^= *p-- << 4;
    sum ^= buf[k--] << 8;
    sum ^= buf[--k] << 12;
    out[i] = sum + (int)(p - buf) * 3 + k + buf[7];
}

void run(int *out, const int *x, int n) { postinc_index<<<(n + 127) / 128, 128>>>(out, x, n); }
