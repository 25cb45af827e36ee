#line 10 "dot_atomic.cu"
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
