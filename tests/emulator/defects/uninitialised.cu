// Reads of memory that nothing has written, each with its clean twin.

// Threads beyond n leave their cell as it was.
extern "C" __global__ void partial_tile_bad(const int* x, int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < n) tile[t] = x[t];
    __syncthreads();
    out[t] = tile[63 - t]; // DEFECT
}

extern "C" __global__ void partial_tile_good(const int* x, int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t < n ? x[t] : 0;
    __syncthreads();
    out[t] = tile[63 - t];
}

// There is room for the halo, but nobody fills it.
extern "C" __global__ void empty_halo_bad(const int* x, int* out, int halo) {
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[t] + tile[t + halo]; // DEFECT
}

extern "C" __global__ void empty_halo_good(const int* x, int* out, int halo) {
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < halo) tile[64 + t] = x[64 + t];
    __syncthreads();
    out[t] = tile[t] + tile[t + halo];
}

// Atomics read too: the counter was never set to zero.
extern "C" __global__ void unset_counter_bad(int* out) {
    __shared__ int count;
    atomicAdd(&count, 1); // DEFECT
    __syncthreads();
    out[threadIdx.x] = count; // DEFECT
}

extern "C" __global__ void unset_counter_good(int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    out[threadIdx.x] = count;
}

// Adds to an output that was never cleared.
extern "C" __global__ void accumulate_bad(const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += x[i]; // DEFECT
}

extern "C" __global__ void accumulate_good(const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
}

// Half of the scratch buffer is filled, all of it is read, by the thread that should have filled it.
extern "C" __global__ void half_scratch_bad(const int* x, int* scratch, int* out, int n) {
    int t = threadIdx.x;
    if (t < n) scratch[t] = x[t];
    __syncthreads();
    out[t] = scratch[t]; // DEFECT
}

extern "C" __global__ void half_scratch_good(const int* x, int* scratch, int* out, int n) {
    int t = threadIdx.x;
    scratch[t] = t < n ? x[t] : 0;
    __syncthreads();
    out[t] = scratch[t];
}

// A local array of which only the first n elements are filled.
extern "C" __global__ void local_array_bad(const int* x, int* out, int n) {
    int a[8];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < n; k++) a[(x[t] + k) & 7] = x[t] + k;
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 8; k++) sum += a[k]; // DEFECT
    out[t] = sum;
}

extern "C" __global__ void local_array_good(const int* x, int* out, int n) {
    int a[8];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 8; k++) a[k] = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++) a[(x[t] + k) & 7] = x[t] + k;
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 8; k++) sum += a[k];
    out[t] = sum;
}
