// Accesses that are not aligned to their size, each with its clean twin.

extern "C" __global__ void vector_offset_bad(const float* x, float* out) {
    int t = threadIdx.x;
    float4 v = *reinterpret_cast<const float4*>(x + 4 * t + 1); // DEFECT
    out[t] = v.x + v.w;
}

extern "C" __global__ void vector_offset_good(const float* x, float* out) {
    int t = threadIdx.x;
    float4 v = *reinterpret_cast<const float4*>(x + 4 * t + 4);
    out[t] = v.x + v.w;
}

extern "C" __global__ void odd_short_bad(const unsigned char* x, int* out) {
    int t = threadIdx.x;
    out[t] = *reinterpret_cast<const short*>(x + 2 * t + 1); // DEFECT
}

extern "C" __global__ void odd_short_good(const unsigned char* x, int* out) {
    int t = threadIdx.x;
    out[t] = *reinterpret_cast<const short*>(x + 2 * t);
}

extern "C" __global__ void shared_pair_bad(const float* x, float* out, int shift) {
    __shared__ __align__(16) float tile[68];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 4) tile[64 + t] = 0.0f;
    __syncthreads();
    float2 v = *reinterpret_cast<float2*>(tile + 2 * (t & 31) + shift + 1); // DEFECT
    out[t] = v.x + v.y;
}

extern "C" __global__ void shared_pair_good(const float* x, float* out, int shift) {
    __shared__ __align__(16) float tile[68];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 4) tile[64 + t] = 0.0f;
    __syncthreads();
    float2 v = *reinterpret_cast<float2*>(tile + 2 * (t & 31) + shift);
    out[t] = v.x + v.y;
}

extern "C" __global__ void store_wide_bad(double* out, const double* x) {
    int t = threadIdx.x;
    double* p = reinterpret_cast<double*>(reinterpret_cast<char*>(out) + 4);
    p[t] = x[t]; // DEFECT
}

extern "C" __global__ void store_wide_good(double* out, const double* x) {
    int t = threadIdx.x;
    double* p = reinterpret_cast<double*>(reinterpret_cast<char*>(out) + 8);
    p[t] = x[t];
}
