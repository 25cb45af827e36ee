// A kernel in nested namespaces, with a helper of the same name in each, and a using-declaration.
#include <cuda_runtime.h>

namespace first {
__device__ int twist(int v) { return v ^ 0x55; }
namespace inner {
__device__ int twist(int v) { return v + 7; }
__global__ void namespace_kernel(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = twist(x[i] & 0xffff) * 3 + first::twist(x[i]);
}
}  // namespace inner
}  // namespace first

using first::inner::namespace_kernel;

void run(int *out, const int *x, int n) { namespace_kernel<<<(n + 127) / 128, 128>>>(out, x, n); }
