// Races in shared memory, each with its clean twin: the twin is the smallest fix.
// A line that a finding may name bears a marker. Blocks have at least two warps unless said otherwise.

#define KEEP_ORDER() asm volatile("" ::: "memory") // for the compiler only: no thread waits here

// No barrier between writing a tile and reading what another thread wrote.
extern "C" __global__ void reverse_bad(const float* x, float* out, int n) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[t]; // DEFECT
    out[t] = tile[n - 1 - t]; // DEFECT
}

extern "C" __global__ void reverse_good(const float* x, float* out, int n) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[n - 1 - t];
}

// No barrier at the end of the loop: the next round's tile is written while the last is still read.
extern "C" __global__ void rounds_bad(const float* x, float* out, int rounds) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        tile[t] = x[r * 64 + t]; // DEFECT
        __syncthreads();
        sum += tile[63 - t]; // DEFECT
    }
    out[t] = sum;
}

extern "C" __global__ void rounds_good(const float* x, float* out, int rounds) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        tile[t] = x[r * 64 + t];
        __syncthreads();
        sum += tile[63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// The broadcast value is overwritten by the next phase before all have read it.
extern "C" __global__ void broadcast_bad(const int* x, int* out) {
    __shared__ int cell[4];
    int t = threadIdx.x;
    if (t == 0) cell[0] = x[0];
    __syncthreads();
    int first = cell[0]; // DEFECT
    if ((t & 31) == 0) cell[t >> 5] = x[t]; // DEFECT
    __syncthreads();
    out[t] = first + cell[t >> 5];
}

extern "C" __global__ void broadcast_good(const int* x, int* out) {
    __shared__ int cell[4];
    int t = threadIdx.x;
    if (t == 0) cell[0] = x[0];
    __syncthreads();
    int first = cell[0];
    __syncthreads();
    if ((t & 31) == 0) cell[t >> 5] = x[t];
    __syncthreads();
    out[t] = first + cell[t >> 5];
}

// Double buffering needs one barrier a round; this one has none inside the loop.
extern "C" __global__ void double_buffer_bad(const float* x, float* out, int rounds) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    buffer[0][t] = x[t];
    __syncthreads();
#pragma unroll 1
    for (int r = 1; r < rounds; r++) {
        buffer[r & 1][t] = x[r * 64 + t]; // DEFECT
        sum += buffer[(r - 1) & 1][63 - t]; // DEFECT
    }
    __syncthreads();
    out[t] = sum + buffer[(rounds - 1) & 1][63 - t];
}

extern "C" __global__ void double_buffer_good(const float* x, float* out, int rounds) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    buffer[0][t] = x[t];
    __syncthreads();
#pragma unroll 1
    for (int r = 1; r < rounds; r++) {
        buffer[r & 1][t] = x[r * 64 + t];
        sum += buffer[(r - 1) & 1][63 - t];
        __syncthreads();
    }
    out[t] = sum + buffer[(rounds - 1) & 1][63 - t];
}

// Lanes of one warp do not run in step unless told to. One warp.
extern "C" __global__ void warp_sum_bad(const int* x, int* out) {
    __shared__ int part[32];
    int t = threadIdx.x;
    part[t] = x[t]; // DEFECT
    KEEP_ORDER();
#pragma unroll 1
    for (int s = 16; s > 0; s >>= 1) {
        if (t < s) part[t] = part[t] + part[t + s]; // DEFECT
        KEEP_ORDER();
    }
    if (t == 0) *out = part[0];
}

extern "C" __global__ void warp_sum_good(const int* x, int* out) {
    __shared__ int part[32];
    int t = threadIdx.x;
    part[t] = x[t];
    __syncwarp();
#pragma unroll 1
    for (int s = 16; s > 0; s >>= 1) {
        if (t < s) part[t] = part[t] + part[t + s];
        __syncwarp();
    }
    if (t == 0) *out = part[0];
}

// The barrier stands at the head of the loop, so none follows the last round.
extern "C" __global__ void reduction_tail_bad(const int* x, int* out) {
    __shared__ int part[128];
    int t = threadIdx.x;
    part[t] = x[t];
#pragma unroll 1
    for (int s = 64; s > 16; s >>= 1) {
        __syncthreads();
        if (t < s) part[t] += part[t + s]; // DEFECT
    }
    if (t < 32) {
        int v = part[31 - t]; // DEFECT
        for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
        if (t == 0) *out = v;
    }
}

extern "C" __global__ void reduction_tail_good(const int* x, int* out) {
    __shared__ int part[128];
    int t = threadIdx.x;
    part[t] = x[t];
#pragma unroll 1
    for (int s = 64; s > 16; s >>= 1) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    __syncthreads();
    if (t < 32) {
        int v = part[31 - t];
        for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
        if (t == 0) *out = v;
    }
}

// Atomics order nothing but themselves: the plain read needs a barrier.
extern "C" __global__ void atomic_read_bad(const int* x, int* out) {
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[t]); // DEFECT
    out[t] = total; // DEFECT
}

extern "C" __global__ void atomic_read_good(const int* x, int* out) {
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[t]);
    __syncthreads();
    out[t] = total;
}

// Bins are zeroed by other threads than those that count in them.
extern "C" __global__ void zeroed_bins_bad(const int* x, int* out) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0; // DEFECT
    atomicAdd(&bins[x[t] & 63], 1); // DEFECT
    __syncthreads();
    out[t] = bins[t];
}

extern "C" __global__ void zeroed_bins_good(const int* x, int* out) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] & 63], 1);
    __syncthreads();
    out[t] = bins[t];
}

// Counting without atomics.
extern "C" __global__ void plain_count_bad(const int* x, int* out) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    bins[x[t] & 63] += 1; // DEFECT
    __syncthreads();
    out[t] = bins[t];
}

extern "C" __global__ void plain_count_good(const int* x, int* out) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] & 63], 1);
    __syncthreads();
    out[t] = bins[t];
}

// Bytes: neighbours in one word are no race (the twin), the same byte is.
extern "C" __global__ void bytes_bad(const unsigned char* x, unsigned char* out) {
    __shared__ unsigned char cell[66];
    int t = threadIdx.x;
    cell[t] = x[t]; // DEFECT
    cell[t + 1] = x[t] + 1; // DEFECT
    __syncthreads();
    out[t] = cell[t];
}

extern "C" __global__ void bytes_good(const unsigned char* x, unsigned char* out) {
    __shared__ unsigned char cell[128];
    int t = threadIdx.x;
    cell[2 * t] = x[t];
    cell[2 * t + 1] = x[t] + 1;
    __syncthreads();
    out[t] = cell[127 - t];
}

// A producer warp and a consumer warp, joined by barrier 1 alone.
extern "C" __global__ void hand_over_bad(const int* x, int* out) {
    __shared__ int slot[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        slot[lane] = x[lane]; // DEFECT
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        out[lane] = slot[31 - lane]; // DEFECT
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}

extern "C" __global__ void hand_over_good(const int* x, int* out) {
    __shared__ int slot[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        slot[lane] = x[lane];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[lane] = slot[31 - lane];
    }
}

// Everyone stores the same value: a race without a consequence, and reported as one.
extern "C" __global__ void shared_same_value_bad(const int* x, int* out) {
    __shared__ int seen;
    int t = threadIdx.x;
    if (t == 0) seen = 0;
    __syncthreads();
    if (x[t] >= 0) seen = 1; // DEFECT
    __syncthreads();
    out[t] = seen;
}

extern "C" __global__ void shared_same_value_good(const int* x, int* out) {
    int t = threadIdx.x;
    out[t] = __syncthreads_or(x[t] >= 0);
}
