// References to locals, to an array element, to a struct member; the same variable passed twice.
#include <cuda_runtime.h>

struct Range { int lo, hi; };

__device__ void widen(int &lo, int &hi, int v)
{
    if (v < lo) lo = v;
    if (v > hi) hi = v;
}

__device__ void add_then_double(int &a, int &b)
{
    a += 3;
    b *= 2;
}

__device__ int read_only(const int &v) { return v + 1; }

__global__ void ref_param(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i] & 0xffff;
    int box[2] = {v, v};
    Range r = {100, 200};
    widen(box[0], box[1], 77);
    widen(r.lo, r.hi, v);
    int same = v;
    add_then_double(same, same);
    add_then_double(out[i] = 1, v);
    out[i] += box[0] + box[1] * 3 + r.lo * 5 + r.hi * 7 + same + v + read_only(v);
}

void run(int *out, const int *x, int n) { ref_param<<<(n + 127) / 128, 128>>>(out, x, n); }
