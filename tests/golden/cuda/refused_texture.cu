// One kernel can't be ported, the other must be all the same.
#include <cuda_runtime.h>

__global__ void samples_texture(float *out, cudaTextureObject_t tex, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float>(tex, i);
}

__global__ void plain(float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += 1.0f;
}

void run(float *out, cudaTextureObject_t tex, int n)
{
    samples_texture<<<(n + 127) / 128, 128>>>(out, tex, n);
    plain<<<(n + 127) / 128, 128>>>(out, n);
}
