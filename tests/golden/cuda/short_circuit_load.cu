// The right operand of && and || is a load out of bounds, or a side effect, where the left one decides.
#include <cuda_runtime.h>

__device__ bool count(int &calls, bool result)
{
    calls++;
    return result;
}

__global__ void short_circuit_load(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = 0;
    if (i + 1 < n && x[i + 1] > x[i])
        r |= 1;
    if (i == 0 || x[i - 1] < 0)
        r |= 2;
    bool odd = x[i] & 1;
    int calls = 0;
    bool both = odd && count(calls, x[i] > 0) && count(calls, true);
    bool either = odd || count(calls, x[i] < 0);
    int k = 0;
    while (i + k < n && k < 4 && x[i + k] >= 0)
        k++;
    out[i] = r + 4 * both + 8 * either + 16 * calls + 128 * k;
}

void run(int *out, const int *x, int n) { short_circuit_load<<<(n + 127) / 128, 128>>>(out, x, n); }
