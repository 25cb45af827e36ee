// A sum in two kernels: the first leaves a partial sum per block, by shuffles written as PTX with a predicate.
#include <cuda_runtime.h>

__device__ float lane_add(float v, int delta) {
    float r;
    asm volatile("{ .reg .f32 o; .reg .pred p;\n\t"
                 "shfl.sync.down.b32 o|p, %1, %2, 31, 0xffffffff;\n\t"
                 "@p add.f32 o, o, %1;\n\t"
                 "selp.f32 %0, o, %1, p; }"
                 : "=f"(r) : "f"(v), "r"(delta));
    return r;
}

__global__ void partial_sums(const float *in, float *partial, int n) {
    __shared__ float per_warp[8];
    float own = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += in[i];
    for (int d = 16; d > 0; d >>= 1) own = lane_add(own, d);
    if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0.0f;
        for (int w = 0; w < 8; w++) all += per_warp[w];
        partial[blockIdx.x] = all;
    }
}

__global__ void last_sum(const float *partial, float *sum, int blocks) {
    float own = threadIdx.x < blocks ? partial[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) own = lane_add(own, d);
    if (threadIdx.x == 0) *sum = own;
}

int main() {
    const int n = 1 << 14, blocks = 32;
    float *in, *partial, *sum;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMalloc(&sum, sizeof(float));
    partial_sums<<<blocks, 256>>>(in, partial, n);
    last_sum<<<1, 32>>>(partial, sum, blocks);
    cudaDeviceSynchronize();
}
