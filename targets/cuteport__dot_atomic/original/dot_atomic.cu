// Dot product with one float atomicAdd per warp. *result must be zero before the launch.
// The order of the additions, and so the last bits of the result, differ from run to run.

#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(x) if ((x) != cudaSuccess) { fprintf(stderr, "error in line %d\n", __LINE__); exit(1); }

__global__ void dot_atomic(float *result, const float *a, const float *b, int n)
{
    float acc = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        acc += a[i] * b[i];

#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        acc += __shfl_down_sync(0xFFFFFFFF, acc, o);

    if (threadIdx.x % warpSize == 0)
        atomicAdd(result, acc);
}

float dot(const float *d_a, const float *d_b, int n)
{
    float *d_result, result;
    CHECK(cudaMalloc(&d_result, sizeof(float)));
    CHECK(cudaMemset(d_result, 0, sizeof(float)));
    const int blocks = n < 256 * 528 ? (n + 255) / 256 : 528;
    dot_atomic<<<blocks, 256>>>(d_result, d_a, d_b, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&result, d_result, sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_result));
    return result;
}

int main()
{
    const int n = 1 << 20;
    float *a = new float[n];
    for (int i = 0; i < n; i++) a[i] = 0.5f;
    float *d_a;
    CHECK(cudaMalloc(&d_a, n * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a, n * sizeof(float), cudaMemcpyHostToDevice));
    printf("%f (expected %f)\n", dot(d_a, d_a, n), 0.25f * n);
    CHECK(cudaFree(d_a));
    delete[] a;
    return 0;
}
