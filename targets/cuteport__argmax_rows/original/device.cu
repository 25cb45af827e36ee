#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38F
#endif

#line 9 "argmax_rows.cu"
struct Pair {
    float val;
    int idx;
};

#line 14 "argmax_rows.cu"
__device__ inline bool better(const Pair &a, const Pair &b)
{
    return a.val > b.val || (a.val == b.val && a.idx < b.idx);
}

#line 19 "argmax_rows.cu"
__device__ inline Pair warp_best(Pair p)
{
    for (int mask = 16; mask >= 1; mask /= 2) {
        Pair other;
        other.val = __shfl_xor_sync(0xffffffff, p.val, mask);
        other.idx = __shfl_xor_sync(0xffffffff, p.idx, mask);
        if (better(other, p))
            p = other;
    }
    return p;
}

#line 31 "argmax_rows.cu"
__global__ void argmax_rows(const float *m, int rows, int cols, int *best_col, float *best_val)
{
    __shared__ Pair warp_pairs[32];

    // a block may take several rows
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        Pair p = {-FLT_MAX, 0x7fffffff};
        for (int c = threadIdx.x; c < cols; c += blockDim.x) {
            Pair q = {m[(size_t)row * cols + c], c};
            if (better(q, p))
                p = q;
        }

        p = warp_best(p);
        if (threadIdx.x % 32 == 0)
            warp_pairs[threadIdx.x / 32] = p;
        __syncthreads();

        if (threadIdx.x < 32) {
            Pair none = {-FLT_MAX, 0x7fffffff};
            p = threadIdx.x < blockDim.x / 32 ? warp_pairs[threadIdx.x] : none;
            p = warp_best(p);
            if (threadIdx.x == 0) {
                best_col[row] = p.idx;
                best_val[row] = p.val;
            }
        }
        __syncthreads();
    }
}
