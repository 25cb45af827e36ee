// Barriers and warp operations that not everyone reaches, each with its clean twin.

// Half of a warp waits inside the branch, everyone else at the next barrier.
extern "C" __global__ void in_branch_bad(const int* x, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 16) {
        __syncthreads(); // DEFECT
        out[t] = tile[63 - t];
    }
    __syncthreads(); // DEFECT
    if (t >= 16) out[t] = tile[63 - t];
}

extern "C" __global__ void in_branch_good(const int* x, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 16) out[t] = tile[63 - t];
    __syncthreads();
    if (t >= 16) out[t] = tile[63 - t];
}

// The number of rounds differs within a warp: some lanes wait in the loop, others behind it. (Between whole
// warps the barrier only counts arrivals.)
extern "C" __global__ void trip_count_bad(const int* x, int* out, int n) {
    int t = threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int i = t; i < n; i += 64) {
        sum += x[i];
        __syncthreads(); // DEFECT
    }
    __syncthreads(); // DEFECT
    out[t] = sum;
}

extern "C" __global__ void trip_count_good(const int* x, int* out, int n) {
    int t = threadIdx.x;
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i += 64) {
        if (i + t < n) sum += x[i + t];
        __syncthreads();
    }
    __syncthreads();
    out[t] = sum;
}

// Two warps name one barrier with different counts.
extern "C" __global__ void named_count_bad(int* out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory"); // DEFECT
    } else {
        out[t] = -t;
        asm volatile("bar.sync 1, 96;" ::: "memory"); // DEFECT
    }
}

extern "C" __global__ void named_count_good(int* out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        out[t] = -t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}

// Threads beyond n leave before the barrier.
extern "C" __global__ void early_exit_bad(const int* x, int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t >= n) return;
    tile[t] = x[t];
    __syncthreads(); // DEFECT
    out[t] = tile[n - 1 - t];
}

extern "C" __global__ void early_exit_good(const int* x, int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < n) tile[t] = x[t];
    __syncthreads();
    if (t < n) out[t] = tile[n - 1 - t];
}

// Each warp waits for the other at a barrier of its own.
extern "C" __global__ void crossed_bad(int* out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory"); // DEFECT
    } else {
        out[t] = -t;
        asm volatile("bar.sync 2, 64;" ::: "memory"); // DEFECT
    }
}

extern "C" __global__ void crossed_good(int* out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = t;
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        out[t] = -t;
        asm volatile("bar.sync 2, 64;" ::: "memory");
    }
}

// A barrier that one warp never reaches: it goes the other way round.
extern "C" __global__ void missing_warp_bad(const int* x, int* out) {
    int t = threadIdx.x;
    if (x[t >> 5] != 0) {
        out[t] = 1;
        asm volatile("bar.sync 3, 64;" ::: "memory"); // DEFECT
    } else {
        out[t] = 2;
    }
    __syncthreads(); // DEFECT
}

extern "C" __global__ void missing_warp_good(const int* x, int* out) {
    int t = threadIdx.x;
    if (x[t >> 5] != 0) {
        out[t] = 1;
    } else {
        out[t] = 2;
    }
    asm volatile("bar.sync 3, 64;" ::: "memory");
    __syncthreads();
}

// A shuffle names lanes that went elsewhere.
extern "C" __global__ void absent_lanes_bad(const int* x, int* out) {
    int lane = threadIdx.x & 31;
    int v = x[lane];
    if (lane < 16) v += __shfl_xor_sync(0xffffffffu, v, 1); // DEFECT
    __syncwarp(); // DEFECT
    out[lane] = v;
}

extern "C" __global__ void absent_lanes_good(const int* x, int* out) {
    int lane = threadIdx.x & 31;
    int v = x[lane];
    if (lane < 16) v += __shfl_xor_sync(0x0000ffffu, v, 1);
    __syncwarp();
    out[lane] = v;
}

// One side of a branch names all lanes in its shuffle, the other only its own.
extern "C" __global__ void split_shuffle_bad(const int* x, int* out) {
    int lane = threadIdx.x & 31;
    int v = x[lane];
    if (lane & 1) {
        v = 3 * __shfl_xor_sync(0xffffffffu, v, 2); // DEFECT
    } else {
        v = 5 + __shfl_xor_sync(0x55555555u, v, 4); // DEFECT
    }
    __syncwarp(); // DEFECT
    out[lane] = v;
}

extern "C" __global__ void split_shuffle_good(const int* x, int* out) {
    int lane = threadIdx.x & 31;
    int v = x[lane];
    if (lane & 1) {
        v = 3 * __shfl_xor_sync(0xaaaaaaaau, v, 2);
    } else {
        v = 5 + __shfl_xor_sync(0x55555555u, v, 4);
    }
    __syncwarp();
    out[lane] = v;
}

// A lane votes with a mask that leaves itself out.
extern "C" __global__ void not_in_mask_bad(const int* x, int* out) {
    int lane = threadIdx.x & 31;
    out[lane] = __ballot_sync(0x0000ffffu, x[lane] > 3); // DEFECT
}

extern "C" __global__ void not_in_mask_good(const int* x, int* out) {
    int lane = threadIdx.x & 31;
    unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    out[lane] = __ballot_sync(mask, x[lane] > 3);
}
