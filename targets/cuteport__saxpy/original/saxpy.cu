// saxpy: y = a * x + y, the usual first kernel.
//
// The grid is capped and every thread walks the vector in grid-sized steps, so the same launch
// works for any n.

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define THREADS 256
#define MAX_BLOCKS 1056

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    size_t bytes = n * sizeof(float);

    float *x = (float *)malloc(bytes);
    float *y = (float *)malloc(bytes);
    for (int i = 0; i < n; i++) {
        x[i] = 1.0f;
        y[i] = 2.0f;
    }

    float *d_x, *d_y;
    cudaMalloc((void **)&d_x, bytes);
    cudaMalloc((void **)&d_y, bytes);
    cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y, bytes, cudaMemcpyHostToDevice);

    int blocks = min((n + THREADS - 1) / THREADS, MAX_BLOCKS);
    saxpy<<<blocks, THREADS>>>(n, 2.0f, d_x, d_y);

    cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad += y[i] != 4.0f;
    printf("%s\n", bad ? "FAILED" : "ok");

    cudaFree(d_x);
    cudaFree(d_y);
    free(x);
    free(y);
    return bad != 0;
}
