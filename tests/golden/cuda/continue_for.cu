// continue runs the loop's increment, in for, while and do alike its condition too.
#include <cuda_runtime.h>

__global__ void continue_for(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bits = x[i];
    int sum = 0;
    for (int k = 0; k < 16; k += 2) {
        if (!((bits >> k) & 1))
            continue;
        sum += k + 1;
        if (sum > 20)
            continue;
        sum <<= 1;
    }
    int w = bits & 15;
    while (w-- > 0) {
        if (w % 3 == 0)
            continue;
        sum += 100;
    }
    int d = 0;
    do {
        if (d == 2)
            continue;
        sum += 10000 * d;
    } while (++d < (bits & 7));
    out[i] = sum;
}

void run(int *out, const int *x, int n) { continue_for<<<(n + 127) / 128, 128>>>(out, x, n); }
