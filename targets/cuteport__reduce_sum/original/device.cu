extern __shared__ float sdata[];
#line 10 "reduce_sum.cu"
__global__ void reduce_sum(const float *g_in, float *g_out, unsigned int n)
{
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
    unsigned int grid_size = blockDim.x * 2 * gridDim.x;

    float sum = 0;
    while (i < n) {
        sum += g_in[i];
        if (i + blockDim.x < n)
            sum += g_in[i + blockDim.x];
        i += grid_size;
    }
    sdata[tid] = sum;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            sdata[tid] = sum = sum + sdata[tid + s];
        __syncthreads();
    }

    if (tid < 32) {
        sum += sdata[tid + 32];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (tid == 0)
            g_out[blockIdx.x] = sum;
    }
}
