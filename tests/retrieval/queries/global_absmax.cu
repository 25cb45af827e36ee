// largest magnitude of a whole buffer, for one scale for all of it
__global__ void amax_of_buffer(unsigned int* result, const float* data, size_t n) {
    extern __shared__ float tile[];
    float m = 0.f;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        m = fmaxf(m, fabsf(data[i]));
    tile[threadIdx.x] = m;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) tile[threadIdx.x] = fmaxf(tile[threadIdx.x], tile[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMax(result, __float_as_uint(tile[0]));
}
