// Results that depend on who comes first, without any race: each with a twin that does not.

// Sums of floats by atomics: rounding depends on the order.
extern "C" __global__ void float_sum_bad(const float* x, long long* out) {
    atomicAdd(reinterpret_cast<float*>(out), x[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void float_sum_good(const float* x, long long* out) {
    long long v = static_cast<long long>(x[blockIdx.x * blockDim.x + threadIdx.x]);
    atomicAdd(reinterpret_cast<unsigned long long*>(out), static_cast<unsigned long long>(v));
}

// Places are handed out first come, first served.
extern "C" __global__ void ticket_bad(const int* x, int* count, int* out) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (v & 1) out[atomicAdd(count, 1)] = v;
}

extern "C" __global__ void ticket_good(const int* x, int* count, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] & 1) {
        atomicAdd(count, 1);
        out[i] = x[i];
    }
}

// The last exchange wins.
extern "C" __global__ void winner_bad(const int* x, int* out) {
    atomicExch(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void winner_good(const int* x, int* out) {
    atomicMax(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
