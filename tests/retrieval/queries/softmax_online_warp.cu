#include <cuda_fp16.h>

// rows of at most 1024 columns, one warp each
template <int COLS_PER_LANE>
__global__ void attn_probs(half* p, const half* s, int n_row, int n_col, float sm_scale) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= n_row) return;
    float r[COLS_PER_LANE];
    float m = -1e20f, d = 0.f;
#pragma unroll
    for (int j = 0; j < COLS_PER_LANE; j++) {
        int c = j * 32 + lane;
        r[j] = c < n_col ? __half2float(s[row * n_col + c]) * sm_scale : -1e20f;
        float m2 = fmaxf(m, r[j]);
        d = d * __expf(m - m2) + __expf(r[j] - m2);
        m = m2;
    }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        float om = __shfl_xor_sync(0xffffffff, m, o), od = __shfl_xor_sync(0xffffffff, d, o);
        float m2 = fmaxf(m, om);
        d = d * __expf(m - m2) + od * __expf(om - m2);
        m = m2;
    }
#pragma unroll
    for (int j = 0; j < COLS_PER_LANE; j++) {
        int c = j * 32 + lane;
        if (c < n_col) p[row * n_col + c] = __float2half(__expf(r[j] - m) / d);
    }
}
template __global__ void attn_probs<32>(half*, const half*, int, int, float);
