// Histogram of integer keys: counts[k] += occurrences of k. Each block counts in shared memory first.
// Dynamic shared memory: bins ints.
template <typename K>
__global__ void histogram(int* counts, const K* __restrict__ keys, long long count, int bins) {
    extern __shared__ int local[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) local[i] = 0;
    __syncthreads();
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const K key = keys[i];
        if (key >= 0 && key < bins) atomicAdd(&local[key], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) {
        if (local[i] != 0) atomicAdd(&counts[i], local[i]);
    }
}
