// The bound, the step and the counter change inside the loop.
#include <cuda_runtime.h>

__global__ void for_bound_modified(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 31;
    int bound = v, step = 1, trips = 0, visited = 0;
    for (int k = 0; k < bound && trips < 40; k += step) {
        trips++;
        visited += k;
        if (k == 5) bound += 4;
        if (k == 9) step = 3;
        if (k == 12) k = 14;
        if (visited > 60) bound--;
    }
    out[i] = trips * 1000 + visited * 10 + step + bound;
}

void run(int *out, const int *x, int n) { for_bound_modified<<<(n + 127) / 128, 128>>>(out, x, n); }
