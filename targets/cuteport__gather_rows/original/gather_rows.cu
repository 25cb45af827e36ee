// Embedding look-up: out[i][:] = table[idx[i]][:], all sizes and indices 64-bit because a table may
// hold more than 2^31 elements. A negative index is padding and gives a row of zeros.

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

typedef long long i64;

__global__ void gather_rows(const float* table, const i64* idx, float* out, i64 count, i64 dim)
{
    for (i64 i = blockIdx.x; i < count; i += gridDim.x) {
        const i64 r = idx[i];
        float* dst = out + i * dim;
        if (r < 0) {
            for (i64 d = threadIdx.x; d < dim; d += blockDim.x)
                dst[d] = 0.0f;
            continue;
        }
        const float* src = table + r * dim;
        for (i64 d = threadIdx.x; d < dim; d += blockDim.x)
            dst[d] = src[d];
    }
}

int main()
{
    const i64 vocab = 50000, dim = 512, count = 4096;
    float *table, *out;
    i64 *idx;
    cudaMallocManaged(&table, sizeof(float) * vocab * dim);
    cudaMallocManaged(&idx, sizeof(i64) * count);
    cudaMallocManaged(&out, sizeof(float) * count * dim);
    for (i64 i = 0; i < vocab * dim; i++) table[i] = (float)(i / dim);
    for (i64 i = 0; i < count; i++) idx[i] = i % 7 == 0 ? -1 : (i * 7919) % vocab;

    unsigned int blocks = (unsigned int)(count < 65535 ? count : 65535);
    gather_rows<<<blocks, 256>>>(table, idx, out, count, dim);
    cudaDeviceSynchronize();

    for (i64 i = 0; i < count; i++) {
        float want = idx[i] < 0 ? 0.0f : (float)idx[i];
        if (out[i * dim] != want || out[i * dim + dim - 1] != want) {
            printf("row %lld is wrong\n", i);
            return 1;
        }
    }
    printf("ok\n");
    return 0;
}
