// Memory from the device heap.
#include <cuda_runtime.h>

__global__ void refused_device_malloc(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int *p = (int *)malloc(4 * sizeof(int));
    if (p) {
        p[i & 3] = i;
        out[i] = p[i & 3];
        free(p);
    }
}

void run(int *out, int n) { refused_device_malloc<<<(n + 127) / 128, 128>>>(out, n); }
