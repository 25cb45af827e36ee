// Four floats by one load through the read-only path; an asm statement with four outputs.
#include <cuda_runtime.h>

__device__ __forceinline__ float4 load_once(const float4 *p) {
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}

__global__ void sum_of_four(const float4 *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = load_once(in + i);
        out[i] = (v.x + v.y) + (v.z + v.w);
    }
}

int main() {
    int n = 4096;
    float4 *in;
    float *out;
    cudaMalloc(&in, n * sizeof(float4));
    cudaMalloc(&out, n * sizeof(float));
    sum_of_four<<<(n + 255) / 256, 256>>>(in, out, n);
    return cudaDeviceSynchronize();
}
