// Local arrays indexed by a run-time value; partly initialised ones are zero in the rest.
#include <cuda_runtime.h>

__global__ void local_array_dyn(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    int counts[4] = {1};
    int grid[3][5];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 5; c++)
            grid[r][c] = r * 10 + c;
    unsigned v = (unsigned)x[i];
    for (int k = 0; k < 16; k++, v >>= 2)
        counts[v & 3] += primes[(v >> 1) & 7];
    grid[counts[0] % 3][counts[1] % 5] += 1000;
    int sum = counts[2] * 3 + counts[3];
    for (int r = 0; r < 3; r++)
        sum += grid[r][counts[1] % 5];
    out[i] = sum;
}

void run(int *out, const int *x, int n) { local_array_dyn<<<(n + 127) / 128, 128>>>(out, x, n); }
