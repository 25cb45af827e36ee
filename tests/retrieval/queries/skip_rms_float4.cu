#define LANES 32

static __device__ __forceinline__ float dot4(float4 a) { return a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w; }

// D4 float4s a row, one warp a row, the row stays in registers
template <int D4>
__global__ void skip_rms(float4* y, float4* skip, const float4* in, const float4* gamma, float epsilon, int m) {
    const int r = blockIdx.x * blockDim.y + threadIdx.y;
    if (r >= m) return;
    constexpr int PER = D4 / LANES;
    float4 keep[PER];
    float ss = 0.f;
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        const size_t at = (size_t)r * D4 + i * LANES + threadIdx.x;
        float4 a = in[at], b = skip[at];
        a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w;
        skip[at] = a;
        keep[i] = a;
        ss += dot4(a);
    }
#pragma unroll
    for (int o = 1; o < LANES; o <<= 1) ss += __shfl_xor_sync(0xffffffff, ss, o);
    const float k = rsqrtf(ss / (4 * D4) + epsilon);
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        const float4 g = gamma[i * LANES + threadIdx.x];
        y[(size_t)r * D4 + i * LANES + threadIdx.x] =
            make_float4(keep[i].x * k * g.x, keep[i].y * k * g.y, keep[i].z * k * g.z, keep[i].w * k * g.w);
    }
}
template __global__ void skip_rms<256>(float4*, float4*, const float4*, const float4*, float, int);
