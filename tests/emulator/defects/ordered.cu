// Volatile and atomic accesses that do not do what they are meant to, each with its clean twin.
// A line that a finding may name bears a marker.

// Volatile makes each access happen, not the three of an update together.
extern "C" __global__ void volatile_count_bad(volatile int* count, int rounds) {
    for (int r = 0; r < rounds; r++) *count = *count + 1; // DEFECT
}

extern "C" __global__ void volatile_count_good(volatile int* count, int rounds) {
    for (int r = 0; r < rounds; r++) atomicAdd((int*)count, 1);
}

extern "C" __global__ void volatile_shared_count_bad(const int* x, int* out) {
    __shared__ int bins[4];
    volatile int* counting = bins;
    int t = threadIdx.x;
    if (t < 4) bins[t] = 0;
    __syncthreads();
    counting[x[t] & 3] += 1; // DEFECT
    __syncthreads();
    if (t < 4) out[t] = bins[t];
}

extern "C" __global__ void volatile_shared_count_good(const int* x, int* out) {
    __shared__ int bins[4];
    int t = threadIdx.x;
    if (t < 4) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] & 3], 1);
    __syncthreads();
    if (t < 4) out[t] = bins[t];
}

// The sum of a warp as it was written when lanes ran in step. One warp.
extern "C" __global__ void in_step_bad(const int* x, int* out) {
    __shared__ int part[64];
    volatile int* p = part;
    int t = threadIdx.x;
    p[t] = x[t]; // DEFECT
    p[t + 32] = x[t + 32]; // DEFECT
    p[t] += p[t + 32]; // DEFECT
    if (t < 16) p[t] += p[t + 16]; // DEFECT
    if (t < 8) p[t] += p[t + 8]; // DEFECT
    if (t < 4) p[t] += p[t + 4]; // DEFECT
    if (t < 2) p[t] += p[t + 2]; // DEFECT
    if (t < 1) p[t] += p[t + 1]; // DEFECT
    if (t == 0) *out = p[0];
}

extern "C" __global__ void in_step_good(const int* x, int* out) {
    __shared__ int part[64];
    volatile int* p = part;
    int t = threadIdx.x;
    p[t] = x[t];
    p[t + 32] = x[t + 32];
    __syncwarp();
    for (int s = 32; s > 0; s /= 2) {
        int sum = p[t] + (t < s ? p[t + s] : 0);
        __syncwarp();
        if (t < s) p[t] = sum;
        __syncwarp();
    }
    if (t == 0) *out = p[0];
}

// A volatile flag orders nothing but itself: the data need fences. Two blocks.
extern "C" __global__ void message_bad(const int* x, volatile int* data, volatile int* ready, int* out) {
    int* slot = (int*)data;
    if (blockIdx.x == 0) {
        slot[0] = x[0] * 3; // DEFECT
        *ready = 1;
    } else {
        while (*ready == 0) {}
        *out = slot[0]; // DEFECT
    }
}

extern "C" __global__ void message_good(const int* x, volatile int* data, volatile int* ready, int* out) {
    int* slot = (int*)data;
    if (blockIdx.x == 0) {
        slot[0] = x[0] * 3;
        __threadfence();
        *ready = 1;
    } else {
        while (*ready == 0) {}
        __threadfence();
        *out = slot[0];
    }
}

// The same between lanes of one warp, where a fence of block scope will do.
extern "C" __global__ void warp_message_bad(const int* x, int* out) {
    __shared__ int slot, flag;
    volatile int* ready = &flag;
    int t = threadIdx.x;
    if (t == 0) *ready = 0;
    __syncwarp();
    if (t == 5) {
        slot = x[0]; // DEFECT
        *ready = 1;
    } else {
        while (*ready == 0) {}
    }
    out[t] = slot; // DEFECT
}

extern "C" __global__ void warp_message_good(const int* x, int* out) {
    __shared__ int slot, flag;
    volatile int* ready = &flag;
    int t = threadIdx.x;
    if (t == 0) *ready = 0;
    __syncwarp();
    if (t == 5) {
        slot = x[0];
        __threadfence_block();
        *ready = 1;
    } else {
        while (*ready == 0) {}
        __threadfence_block();
    }
    out[t] = slot;
}

// A value handed from lane to lane: who waits for it tests it.
extern "C" __global__ void chain_bad(const int* x, int* out) {
    __shared__ int cells[33];
    volatile int* cell = cells;
    int t = threadIdx.x;
    cell[t + 1] = -1; // DEFECT
    if (t == 0) cell[0] = 0; // DEFECT
    int before = cell[t]; // DEFECT
    cell[t + 1] = before + x[t]; // DEFECT
    out[t] = before;
}

extern "C" __global__ void chain_good(const int* x, int* out) {
    __shared__ int cells[33];
    volatile int* cell = cells;
    int t = threadIdx.x;
    cell[t + 1] = -1;
    if (t == 0) cell[0] = 0;
    __syncwarp();
    int before;
    while ((before = cell[t]) < 0) {}
    cell[t + 1] = before + x[t];
    out[t] = before;
}

// All write who they are, and one of them stays: what volatile may do and plain stores may not.
extern "C" __global__ void election_bad(int* out) {
    __shared__ int winner;
    winner = threadIdx.x; // DEFECT
    __syncthreads();
    if (threadIdx.x == 0) *out = winner >= 0;
}

extern "C" __global__ void election_good(int* out) {
    __shared__ int winner;
    *(volatile int*)&winner = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) *out = winner >= 0;
}

// Two threads by turns, after Peterson: the turn is given away without a look at it.
static __device__ volatile int wants[2], turn;

extern "C" __global__ void turns_bad(int* count, int rounds) {
    int me = blockIdx.x;
    for (int r = 0; r < rounds; r++) {
        wants[me] = 1;
        turn = 1 - me;
        while (wants[1 - me] && turn != me) {}
        *count += 1; // DEFECT
        wants[me] = 0;
    }
}

extern "C" __global__ void turns_good(int* count, int rounds) {
    int me = blockIdx.x;
    for (int r = 0; r < rounds; r++) {
        wants[me] = 1;
        turn = 1 - me;
        __threadfence();
        while (wants[1 - me] && turn != me) {}
        __threadfence();
        *count += 1;
        __threadfence();
        wants[me] = 0;
    }
}

// An atomic for the threads of one block, in memory that all blocks count in.
extern "C" __global__ void block_scope_bad(int* total) {
    atomicAdd_block(total, 1); // DEFECT
}

extern "C" __global__ void block_scope_good(int* total) {
    __shared__ int own;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    atomicAdd_block(&own, 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, own);
}

// A fence for the threads of one block, before news for another.
extern "C" __global__ void block_fence_bad(const int* x, int* data, int* ready, int* out) {
    if (blockIdx.x == 0) {
        *data = x[0]; // DEFECT
        __threadfence_block();
        atomicExch(ready, 1);
    } else {
        while (atomicAdd(ready, 0) == 0) {}
        __threadfence();
        *out = *data; // DEFECT
    }
}

extern "C" __global__ void block_fence_good(const int* x, int* data, int* ready, int* out) {
    if (blockIdx.x == 0) {
        *data = x[0];
        __threadfence();
        atomicExch(ready, 1);
    } else {
        while (atomicAdd(ready, 0) == 0) {}
        __threadfence();
        *out = *data;
    }
}

// Warps of one block count in at a counter in global memory; the last adds up. Fences of block scope are enough.
extern "C" __global__ void block_counter_bad(const int* x, int* part, int* done, int* out) {
    int t = threadIdx.x, b = blockIdx.x;
    part[b * blockDim.x + t] = x[b * blockDim.x + t]; // DEFECT
    if (atomicAdd_block(&done[b], 1) == blockDim.x - 1) {
        int sum = 0;
        for (int k = 0; k < blockDim.x; k++) sum += part[b * blockDim.x + k]; // DEFECT
        out[b] = sum;
    }
}

extern "C" __global__ void block_counter_good(const int* x, int* part, int* done, int* out) {
    int t = threadIdx.x, b = blockIdx.x;
    part[b * blockDim.x + t] = x[b * blockDim.x + t];
    __threadfence_block();
    if (atomicAdd_block(&done[b], 1) == blockDim.x - 1) {
        __threadfence_block();
        int sum = 0;
        for (int k = 0; k < blockDim.x; k++) sum += part[b * blockDim.x + k];
        out[b] = sum;
    }
}

// Lanes meet in a shuffle and in a vote, which order no memory.
extern "C" __global__ void shuffle_order_bad(const int* x, int* out) {
    __shared__ int cell[32];
    int t = threadIdx.x;
    cell[t] = x[t]; // DEFECT
    int first = __shfl_sync(0xffffffffu, x[t], 0);
    out[t] = cell[31 - t] + first; // DEFECT
}

extern "C" __global__ void shuffle_order_good(const int* x, int* out) {
    __shared__ int cell[32];
    int t = threadIdx.x;
    cell[t] = x[t];
    int first = __shfl_sync(0xffffffffu, x[t], 0);
    __syncwarp();
    out[t] = cell[31 - t] + first;
}

extern "C" __global__ void vote_order_bad(const int* x, int* out) {
    __shared__ int cell[32];
    int t = threadIdx.x;
    cell[t] = x[t]; // DEFECT
    if (__any_sync(0xffffffffu, x[t] > 3)) out[t] = cell[31 - t]; // DEFECT
}

extern "C" __global__ void vote_order_good(const int* x, int* out) {
    __shared__ int cell[32];
    int t = threadIdx.x;
    cell[t] = x[t];
    __syncwarp();
    if (__any_sync(0xffffffffu, x[t] > 3)) out[t] = cell[31 - t];
}

// A counter put back by a plain store: only what is acquired comes before it, here each block's release.
extern "C" __global__ void counter_reset_bad(unsigned* count, int* out) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory"); // DEFECT
    if (blockIdx.x) return;
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    while (seen < gridDim.x);
    *out = seen;
    *count = 0; // DEFECT
}

extern "C" __global__ void counter_reset_good(unsigned* count, int* out) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
    if (blockIdx.x) return;
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    while (seen < gridDim.x);
    *out = seen;
    *count = 0;
}
