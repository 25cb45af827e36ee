#include <cuda_fp16.h>

// A warp a token, VPT experts a lane in registers
template <int E, int WARPS>
__global__ void topk_gate_softmax(const half* in, float* probs, int* expert, int n_rows, int k) {
    constexpr int VPT = E / 32;
    int row = blockIdx.x * WARPS + threadIdx.y;
    if (row >= n_rows) return;
    float v[VPT];
    float mx = -65504.f;
#pragma unroll
    for (int j = 0; j < VPT; j++) {
        v[j] = __half2float(in[row * E + j * 32 + threadIdx.x]);
        mx = max(mx, v[j]);
    }
    for (int o = 16; o; o /= 2) mx = max(mx, __shfl_down_sync(~0u, mx, o));
    mx = __shfl_sync(~0u, mx, 0);
    float den = 0;
#pragma unroll
    for (int j = 0; j < VPT; j++) den += (v[j] = __expf(v[j] - mx));
    for (int o = 16; o; o /= 2) den += __shfl_down_sync(~0u, den, o);
    den = __shfl_sync(~0u, den, 0);
    for (int i = 0; i < k; i++) {
        float bv = -1.f;
        int be = 0;
#pragma unroll
        for (int j = 0; j < VPT; j++)
            if (v[j] > bv) { bv = v[j]; be = j * 32 + threadIdx.x; }
        for (int o = 16; o; o /= 2) {
            float ov = __shfl_down_sync(~0u, bv, o);
            int oe = __shfl_down_sync(~0u, be, o);
            if (ov > bv || (ov == bv && oe < be)) { bv = ov; be = oe; }
        }
        be = __shfl_sync(~0u, be, 0);
        if (threadIdx.x == 0) { probs[row * k + i] = bv / den; expert[row * k + i] = be; }
#pragma unroll
        for (int j = 0; j < VPT; j++)
            if (j * 32 + threadIdx.x == be) v[j] = -1.f;
    }
}
template __global__ void topk_gate_softmax<128, 4>(const half*, float*, int*, int, int);
