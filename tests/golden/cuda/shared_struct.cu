// An array of structs in shared memory, read by member and as a whole.
#include <cuda_runtime.h>

struct Entry {
    float key;
    int where;
};

__global__ void shared_struct(int *out, const float *x, int n)
{
    __shared__ Entry best[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    best[t].key = i < n ? x[i] : -1e30f;
    best[t].where = i;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) {
            Entry other = best[t + s];
            if (other.key > best[t].key)
                best[t] = other;
        }
        __syncthreads();
    }
    if (i < n)
        out[i] = best[0].where - t;
}

void run(int *out, const float *x, int n) { shared_struct<<<(n + 127) / 128, 128>>>(out, x, n); }
