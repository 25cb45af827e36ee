#include <cuda_bf16.h>
#include <cstdint>

__device__ __forceinline__ void stage16(void* s, const void* g) {
    uint32_t a = (uint32_t)__cvta_generic_to_shared(s);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(a), "l"(g));
}

// the row is staged in shared memory so that it is read from DRAM once
__global__ void rms_staged(__nv_bfloat16* y, const __nv_bfloat16* x, const __nv_bfloat16* g, float eps, int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    __nv_bfloat16* row = (__nv_bfloat16*)raw;
    __shared__ float warp_part[32];
    for (int i = threadIdx.x * 8; i < n; i += blockDim.x * 8) stage16(row + i, x + (size_t)blockIdx.x * n + i);
    asm volatile("cp.async.commit_group;\n");
    asm volatile("cp.async.wait_group 0;\n");
    __syncthreads();
    float q = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float f = __bfloat162float(row[i]);
        q = fmaf(f, f, q);
    }
    for (int o = 16; o > 0; o >>= 1) q += __shfl_down_sync(0xffffffff, q, o);
    if (!(threadIdx.x & 31)) warp_part[threadIdx.x >> 5] = q;
    __syncthreads();
    q = 0.f;
    for (int w = 0; w < blockDim.x / 32; ++w) q += warp_part[w];
    const float inv = rsqrtf(q / n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = __float2bfloat16(__bfloat162float(row[i]) * inv * __bfloat162float(g[i]));
}
