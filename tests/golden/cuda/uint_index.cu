// Unsigned 32-bit indices: differences that wrap before they are widened to an address.
#include <cuda_runtime.h>

__global__ void uint_index(int *out, const int *x, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned previous = i == 0 ? n - 1 : i - 1;
    unsigned k = i - n;      // wraps
    unsigned back = k + n;   // and comes back
    out[i] = x[previous] ^ x[back] ^ x[n - 1u - i];
}

void run(int *out, const int *x, unsigned n) { uint_index<<<(n + 127) / 128, 128>>>(out, x, n); }
