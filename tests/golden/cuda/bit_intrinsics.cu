// Population count, leading zeros, reversal, byte permutation, high products, funnel shift.
#include <cuda_runtime.h>

__global__ void bit_intrinsics(unsigned *out, const unsigned *x, const unsigned long long *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned u = x[i];
    unsigned long long w = y[i];
    unsigned r = __popc(u) + 3 * __clz(u) + 5 * __ffs(u) + __brev(u);
    r ^= __byte_perm(u, ~u, 0x3175);
    r += __umulhi(u, 2654435761u) + __mulhi((int)u, -77);
    r ^= __funnelshift_l(u, r, 9);
    r += __popcll(w) + 3 * __clzll(w) + 5 * __ffsll(w) + (unsigned)(__brevll(w) >> 32);
    r += (unsigned)(__umul64hi(w, 0x9e3779b97f4a7c15ull) >> 7);
    out[i] = r + __sad((int)u >> 8, 1000, 5u) + __mul24(u & 0xffff, 77);
}

void run(unsigned *out, const unsigned *x, const unsigned long long *y, int n)
{
    bit_intrinsics<<<(n + 127) / 128, 128>>>(out, x, y, n);
}
