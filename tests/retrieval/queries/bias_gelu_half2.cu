#include <cuda_fp16.h>

// y = gelu(in + b), two columns a thread, a grid over all pairs
static __device__ float gelu_erf(float t) { return t * normcdff(t); }

extern "C" __global__ void add_bias_gelu(half2* y, const half2* in, const half2* b, int pairs_per_row, int total_pairs) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= total_pairs) return;
    const float2 v = __half22float2(__hadd2(in[p], b[p % pairs_per_row]));
    y[p] = __floats2half2_rn(gelu_erf(v.x), gelu_erf(v.y));
}
