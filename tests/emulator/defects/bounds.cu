// Accesses outside of buffers, shared memory and local arrays, each with its clean twin.

// One element past the end is read.
extern "C" __global__ void read_past_bad(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i + 1] - x[i]; // DEFECT
}

extern "C" __global__ void read_past_good(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (i + 1 < n ? x[i + 1] : 0) - x[i];
}

// The guard lets one thread too many write.
extern "C" __global__ void write_past_bad(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = i * i; // DEFECT
}

extern "C" __global__ void write_past_good(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i * i;
}

// No guard at all, and more threads than elements.
extern "C" __global__ void no_guard_bad(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0f * x[i]; // DEFECT
}

extern "C" __global__ void no_guard_good(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}

// The element before the first.
extern "C" __global__ void before_bad(const int* x, int* out) {
    int i = threadIdx.x;
    out[i] = x[i - 1]; // DEFECT
}

extern "C" __global__ void before_good(const int* x, int* out) {
    int i = threadIdx.x;
    out[i] = i > 0 ? x[i - 1] : 0;
}

// Rows lie `width` apart, not `width + 1`: the last row ends behind the buffer.
extern "C" __global__ void pitch_bad(const int* x, int* out, int width, int height) {
    int c = threadIdx.x, r = threadIdx.y;
    if (c < width && r < height) out[r * width + c] = x[r * (width + 1) + c]; // DEFECT
}

extern "C" __global__ void pitch_good(const int* x, int* out, int width, int height) {
    int c = threadIdx.x, r = threadIdx.y;
    if (c < width && r < height) out[r * width + c] = x[r * width + c];
}

// The last vector of four reaches over an end that is no multiple of four.
extern "C" __global__ void vector_tail_bad(const float* x, float* out, int n) {
    int i = 4 * threadIdx.x;
    if (i < n) {
        float4 v = *reinterpret_cast<const float4*>(x + i); // DEFECT
        out[threadIdx.x] = v.x + v.y + v.z + v.w;
    }
}

extern "C" __global__ void vector_tail_good(const float* x, float* out, int n) {
    int i = 4 * threadIdx.x;
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        out[threadIdx.x] = v.x + v.y + v.z + v.w;
    } else if (i < n) {
        float sum = 0.0f;
        for (int k = i; k < n; k++) sum += x[k];
        out[threadIdx.x] = sum;
    }
}

// A bin that is not there.
extern "C" __global__ void bin_past_bad(const int* x, int* bins, int n) {
    int b = x[threadIdx.x];
    atomicAdd(&bins[b], 1); // DEFECT
}

extern "C" __global__ void bin_past_good(const int* x, int* bins, int n) {
    int b = x[threadIdx.x];
    if (b < n) atomicAdd(&bins[b], 1);
}

// Shared memory: no room for the halo.
extern "C" __global__ void halo_bad(const int* x, int* out, int halo) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < halo) tile[64 + t] = x[64 + t]; // DEFECT
    __syncthreads();
    out[t] = tile[t] + x[t + halo];
}

extern "C" __global__ void halo_good(const int* x, int* out, int halo) {
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < halo) tile[64 + t] = x[64 + t];
    __syncthreads();
    out[t] = tile[t] + tile[t + halo];
}

// Shared memory: before the first element.
extern "C" __global__ void shared_before_bad(const int* x, int* out, int back) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[t - back]; // DEFECT
}

extern "C" __global__ void shared_before_good(const int* x, int* out, int back) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = t >= back ? tile[t - back] : 0;
}

// One kernel, two launches: with half of the dynamic shared memory that it needs, and with all of it.
extern "C" __global__ void dynamic_shared(const int* x, int* out) {
    extern __shared__ int part[];
    int t = threadIdx.x;
    part[t] = x[t]; // DEFECT
    __syncthreads();
    out[t] = part[blockDim.x - 1 - t]; // DEFECT
}

// An index into a local array that comes from memory.
extern "C" __global__ void local_past_bad(const int* x, int* out, int n) {
    int a[8];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 8; k++) a[k] = x[t] + k * n;
    out[t] = a[x[t] + 1]; // DEFECT
}

extern "C" __global__ void local_past_good(const int* x, int* out, int n) {
    int a[8];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 8; k++) a[k] = x[t] + k * n;
    out[t] = a[(x[t] + 1) & 7];
}

// A local array's own loop runs one too far and writes.
extern "C" __global__ void local_write_bad(const int* x, int* out, int n) {
    int a[4];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k <= n; k++) a[k] = x[t] * k; // DEFECT
    out[t] = a[x[t] & 3];
}

extern "C" __global__ void local_write_good(const int* x, int* out, int n) {
    int a[4];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < n; k++) a[k] = x[t] * k;
    out[t] = a[x[t] & 3];
}

// One array of shared memory runs over into the next, whose first element it changes.
extern "C" __global__ void neighbour_bad(const int* x, int* out) {
    __shared__ int first[32];
    __shared__ int second[32];
    int t = threadIdx.x;
    first[t + x[0]] = x[t]; // DEFECT
    second[t] = 2 * x[t];
    __syncthreads();
    out[t] = first[t] + second[31 - t]; // DEFECT
}

extern "C" __global__ void neighbour_good(const int* x, int* out) {
    __shared__ int first[33];
    __shared__ int second[32];
    int t = threadIdx.x;
    first[t] = x[t];
    second[t] = 2 * x[t];
    __syncthreads();
    out[t] = first[t] + second[31 - t];
}

// Before the start of the dynamic array lie the static ones.
extern "C" __global__ void before_dynamic_bad(const int* x, int* out) {
    extern __shared__ int window[];
    __shared__ int scale[4];
    int t = threadIdx.x;
    if (t < 4) scale[t] = x[t];
    window[t] = x[t];
    __syncthreads();
    out[t] = window[t - x[1]] * scale[t & 3]; // DEFECT
}

extern "C" __global__ void before_dynamic_good(const int* x, int* out) {
    extern __shared__ int window[];
    __shared__ int scale[4];
    int t = threadIdx.x;
    if (t < 4) scale[t] = x[t];
    window[t] = x[t];
    __syncthreads();
    out[t] = window[t < x[1] ? t : t - x[1]] * scale[t & 3];
}

// What lies behind a parameter is another's, or nobody's.
extern "C" __global__ void parameter_bad(const __grid_constant__ int n, const int* x, int* out) {
    const int* all = &n;
    out[threadIdx.x] = all[x[threadIdx.x]]; // DEFECT
}

extern "C" __global__ void parameter_good(const __grid_constant__ int n, const int* x, int* out) {
    const int* all = &n;
    out[threadIdx.x] = all[x[threadIdx.x] < 1 ? x[threadIdx.x] : 0];
}

// Far beyond the end of one array, in the midst of another.
extern "C" __global__ void far_bad(const int* x, int* out) {
    __shared__ int first[64];
    __shared__ int second[512];
    int t = threadIdx.x;
    for (int k = t; k < 512; k += 32) second[k] = k;
    first[t] = x[t];
    __syncthreads();
    out[t] = first[t + x[0]] + second[t]; // DEFECT
}

extern "C" __global__ void far_good(const int* x, int* out) {
    __shared__ int first[64];
    __shared__ int second[512];
    int t = threadIdx.x;
    for (int k = t; k < 512; k += 32) second[k] = k;
    first[t] = x[t];
    __syncthreads();
    out[t] = first[t] + second[t + x[0]];
}
