#line 4 "ptx_load.cu"
__device__ __forceinline__ float4 load_once(const float4 *p) {
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}

#line 11 "ptx_load.cu"
__global__ void sum_of_four(const float4 *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = load_once(in + i);
        out[i] = (v.x + v.y) + (v.z + v.w);
    }
}
