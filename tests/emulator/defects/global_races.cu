// Races in global memory, within a block and between blocks, each with its clean twin.

// All blocks store different values to one cell.
extern "C" __global__ void one_cell_bad(int* out) {
    if (threadIdx.x == 0) out[0] = blockIdx.x + 1; // DEFECT
}

extern "C" __global__ void one_cell_good(int* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x + 1;
}

// Within a block, through global memory, without a barrier.
extern "C" __global__ void through_memory_bad(const int* x, int* scratch, int* out) {
    int t = threadIdx.x;
    scratch[t] = x[t] * 2; // DEFECT
    out[t] = scratch[blockDim.x - 1 - t]; // DEFECT
}

extern "C" __global__ void through_memory_good(const int* x, int* scratch, int* out) {
    int t = threadIdx.x;
    scratch[t] = x[t] * 2;
    __syncthreads();
    out[t] = scratch[blockDim.x - 1 - t];
}

// A stencil in place: the neighbour may already be new. Between blocks no barrier can help.
extern "C" __global__ void stencil_bad(int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int right = i + 1 < n ? x[i + 1] : 0; // DEFECT
    __syncthreads();
    x[i] = x[i] + right; // DEFECT
}

extern "C" __global__ void stencil_good(int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int right = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    out[i] = x[i] + right;
}

// The last block adds the partial sums, but nothing orders them with the counter.
extern "C" __global__ void last_block_bad(const int* x, int* partial, unsigned* done, int* out) {
    if (threadIdx.x != 0) return;
    int b = blockIdx.x;
    partial[b] = x[2 * b] + x[2 * b + 1]; // DEFECT
    if (atomicAdd(done, 1u) == gridDim.x - 1) {
        int sum = 0;
        for (int k = 0; k < gridDim.x; k++) sum += partial[k]; // DEFECT
        *out = sum;
    }
}

extern "C" __global__ void last_block_good(const int* x, int* partial, unsigned* done, int* out) {
    if (threadIdx.x != 0) return;
    int b = blockIdx.x;
    partial[b] = x[2 * b] + x[2 * b + 1];
    __threadfence();
    if (atomicAdd(done, 1u) == gridDim.x - 1) {
        __threadfence();
        int sum = 0;
        for (int k = 0; k < gridDim.x; k++) sum += partial[k];
        *out = sum;
    }
}

// The same by whole blocks: barriers carry what one thread's fences order to and from the others.
extern "C" __global__ void last_block_tree_bad(const int* x, int* partial, unsigned* done, int* out) {
    __shared__ bool last;
    int t = threadIdx.x;
    partial[blockIdx.x * blockDim.x + t] = 2 * x[blockIdx.x * blockDim.x + t]; // DEFECT
    __syncthreads();
    if (t == 0) last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int k = 0; k < gridDim.x; k++) sum += partial[k * blockDim.x + t]; // DEFECT
        out[t] = sum;
    }
}

extern "C" __global__ void last_block_tree_good(const int* x, int* partial, unsigned* done, int* out) {
    __shared__ bool last;
    int t = threadIdx.x;
    partial[blockIdx.x * blockDim.x + t] = 2 * x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int k = 0; k < gridDim.x; k++) sum += partial[k * blockDim.x + t];
        out[t] = sum;
    }
}

// A lock without fences: the compare-and-swap alone orders nothing else.
extern "C" __global__ void lock_bad(int* lock, int* count) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    *count = *count + 1; // DEFECT
    atomicExch(lock, 0);
}

extern "C" __global__ void lock_good(int* lock, int* count) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// The same value from every block: benign, and reported as that.
extern "C" __global__ void global_same_value_bad(const int* x, int* found) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] >= 0) found[0] = 1; // DEFECT
}

extern "C" __global__ void global_same_value_good(const int* x, int* found) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] >= 0) atomicOr(found, 1);
}

// Counting in global memory without atomics.
extern "C" __global__ void global_count_bad(const int* x, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[x[i] & 7] += 1; // DEFECT
}

extern "C" __global__ void global_count_good(const int* x, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[x[i] & 7], 1);
}

// Each block's part is one element too long and reaches into the next block's.
extern "C" __global__ void overlap_bad(int* out, int per) {
    for (int k = threadIdx.x; k <= per; k += blockDim.x) out[blockIdx.x * per + k] = 10 * blockIdx.x + k; // DEFECT
}

extern "C" __global__ void overlap_good(int* out, int per) {
    for (int k = threadIdx.x; k < per; k += blockDim.x) out[blockIdx.x * per + k] = 10 * blockIdx.x + k;
}

// An atomic in one block, a plain read of the same cell in another.
extern "C" __global__ void total_read_bad(int* total, int* out) {
    if (blockIdx.x == 0) atomicAdd(total, 1); // DEFECT
    else out[blockIdx.x * blockDim.x + threadIdx.x] = total[0] >= 0; // DEFECT
}

extern "C" __global__ void total_read_good(int* total, int* out) {
    if (blockIdx.x == 0) atomicAdd(total, 1);
    else out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(total, 0) >= 0;
}
