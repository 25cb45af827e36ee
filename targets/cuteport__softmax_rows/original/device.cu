#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif

#define WARP_SIZE 32
#define FULL_MASK 0xffffffff
#line 15 "softmax_rows.cu"
__device__ __forceinline__ float warp_max(float v)
{
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        v = fmaxf(v, __shfl_xor_sync(FULL_MASK, v, offset));
    return v;
}

#line 23 "softmax_rows.cu"
__device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(FULL_MASK, v, offset);
    return v;
}

#line 31 "softmax_rows.cu"
__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ out, int cols)
{
    __shared__ float partial[WARP_SIZE];

    const int row = blockIdx.x;
    const int lane = threadIdx.x % WARP_SIZE;
    const int warp = threadIdx.x / WARP_SIZE;
    const int warps = blockDim.x / WARP_SIZE;
    const float* row_in = x + (size_t)row * cols;
    float* row_out = out + (size_t)row * cols;

    // 1. the row's maximum
    float m = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        m = fmaxf(m, row_in[c]);
    m = warp_max(m);
    if (lane == 0) partial[warp] = m;
    __syncthreads();
    m = lane < warps ? partial[lane] : -INFINITY;
    m = warp_max(m);
    __syncthreads();  // partial is used again below

    // 2. the sum of the exponentials
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(row_in[c] - m);
    sum = warp_sum(sum);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    sum = lane < warps ? partial[lane] : 0.0f;
    sum = warp_sum(sum);

    // 3. scale
    const float inv = 1.0f / sum;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        row_out[c] = expf(row_in[c] - m) * inv;
}
