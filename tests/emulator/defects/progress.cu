// Kernels that wait, loop or stop: what must end in a finding, and its twin that must not.

// Block 1 waits for block 0, which never says that it is done.
extern "C" __global__ void flag_bad(volatile int* flag, volatile int* data, int* out) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        __threadfence();
    } else {
        while (flag[0] == 0) {} // DEFECT
        __threadfence();
        out[0] = data[0];
    }
}

extern "C" __global__ void flag_good(volatile int* flag, volatile int* data, int* out) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        __threadfence();
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {}
        __threadfence();
        out[0] = data[0];
    }
}

// The same the other way round: block 0 waits, and must let block 1 run.
extern "C" __global__ void acquire_bad(int* flag, int* data, int* out) {
    int seen;
    if (blockIdx.x == 0) {
        do {
            asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); // DEFECT
        } while (seen == 0); // DEFECT
        out[0] = data[0] + 1;
    } else {
        data[0] = 7;
        asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(flag), "r"(0) : "memory");
    }
}

extern "C" __global__ void acquire_good(int* flag, int* data, int* out) {
    int seen;
    if (blockIdx.x == 0) {
        do {
            asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen == 0);
        out[0] = data[0] + 1;
    } else {
        data[0] = 7;
        asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    }
}

// A barrier of the whole grid that waits for one block more than there is.
extern "C" __global__ void grid_barrier_bad(unsigned* arrived, int* x, int* out) {
    int b = blockIdx.x;
    x[b] = b + 1;
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x + 1) {} // DEFECT
    __threadfence();
    out[b] = x[(b + 1) % gridDim.x];
}

extern "C" __global__ void grid_barrier_good(unsigned* arrived, int* x, int* out) {
    int b = blockIdx.x;
    x[b] = b + 1;
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {}
    __threadfence();
    out[b] = x[(b + 1) % gridDim.x];
}

// With one block the step is zero.
extern "C" __global__ void zero_step_bad(const int* x, int* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x * (gridDim.x - 1)) out[i] = 2 * x[i]; // DEFECT
}

extern "C" __global__ void zero_step_good(const int* x, int* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = 2 * x[i];
}

extern "C" __global__ void assert_bad(const int* x, int* out) {
    int t = threadIdx.x;
    assert(x[t] < 63); // DEFECT
    out[t] = x[t];
}

extern "C" __global__ void assert_good(const int* x, int* out) {
    int t = threadIdx.x;
    assert(x[t] < 64);
    out[t] = x[t];
}

extern "C" __global__ void trap_bad(const int* x, int* out) {
    int t = threadIdx.x;
    if (x[t] == 40) __trap(); // DEFECT
    out[t] = x[t];
}

extern "C" __global__ void trap_good(const int* x, int* out) {
    int t = threadIdx.x;
    if (x[t] == 64) __trap();
    out[t] = x[t];
}
