typedef long long i64;
#line 10 "gather_rows.cu"
__global__ void gather_rows(const float* table, const i64* idx, float* out, i64 count, i64 dim)
{
    for (i64 i = blockIdx.x; i < count; i += gridDim.x) {
        const i64 r = idx[i];
        float* dst = out + i * dim;
        if (r < 0) {
            for (i64 d = threadIdx.x; d < dim; d += blockDim.x)
                dst[d] = 0.0f;
            continue;
        }
        const float* src = table + r * dim;
        for (i64 d = threadIdx.x; d < dim; d += blockDim.x)
            dst[d] = src[d];
    }
}
