// A filter whose taps lie in constant memory that the host fills; they are read by PTX alone.
#include <cuda_runtime.h>

__constant__ float taps[8];

__device__ float tap(int k) {
    float lo, hi;
    asm("{ .reg .u64 a; cvta.to.const.u64 a, %2; ld.const.v2.f32 {%0, %1}, [a]; }"
        : "=f"(lo), "=f"(hi) : "l"(taps + (k & ~1)));
    return k & 1 ? hi : lo;
}

__global__ void filter(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) sum += i + k < n ? tap(k) * in[i + k] : 0.0f;
    out[i] = sum;
}

int main() {
    int n = 900;
    float host[8] = {1, 2, 3, 4, 4, 3, 2, 1};
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpyToSymbol(taps, host, sizeof(host));
    filter<<<(n + 127) / 128, 128>>>(in, out, n);
    cudaDeviceSynchronize();
}
