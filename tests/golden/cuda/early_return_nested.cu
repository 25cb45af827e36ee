// Returns at several depths, each after another store.
#include <cuda_runtime.h>

__global__ void early_return_nested(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = x[i];
        out[i] = 1;
        if (v & 1) {
            out[i] = 2;
            if (v & 2)
                return;
            out[i] = 3;
        } else if (v & 4) {
            return;
        }
        for (int k = 0; k < 5; k++) {
            if (((v >> 3) & 7) == k) {
                out[i] += 10 * k;
                return;
            }
            out[i] += 100;
        }
        out[i] = -out[i];
    }
}

void run(int *out, const int *x, int n) { early_return_nested<<<(n + 127) / 128, 128>>>(out, x, n); }
