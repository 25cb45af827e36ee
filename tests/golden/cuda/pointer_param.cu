// A device function that writes through a pointer to a local array, to shared and to global memory.
#include <cuda_runtime.h>

__device__ void sort2(int *p)
{
    if (p[0] > p[1]) {
        int t = p[0];
        p[0] = p[1];
        *(p + 1) = t;
    }
}

__global__ void pointer_param(int *out, const int *x, int n)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    int local[4];
    for (int k = 0; k < 4; k++)
        local[k] = i < n ? x[i] >> (8 * k) & 255 : 0;
    sort2(local);
    sort2(local + 2);
    sort2(&local[1]);
    s[2 * t] = local[1];
    s[2 * t + 1] = local[0];
    sort2(&s[2 * t]);
    if (i < n) {
        out[2 * i] = local[3] + 256 * s[2 * t];
        out[2 * i + 1] = local[2] + 256 * s[2 * t + 1];
        sort2(out + 2 * i);
    }
}

void run(int *out, const int *x, int n) { pointer_param<<<(n + 127) / 128, 128>>>(out, x, n); }
