// Integer and bool template parameters: array size, loop bound, if constexpr, recursion at compile time.
#include <cuda_runtime.h>

template <int N> struct Factorial { static const int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static const int value = 1; };

template <int TAPS, bool WRAP = false>
__global__ void template_int(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int window[TAPS];
    for (int k = 0; k < TAPS; k++) {
        if constexpr (WRAP)
            window[k] = x[(i + k) % n];
        else
            window[k] = i + k < n ? x[i + k] : 0;
    }
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        sum += (unsigned)window[k] * (k + 1u);
    out[i] = (int)(sum + Factorial<TAPS>::value);
}

void run(int *out, const int *x, int n)
{
    template_int<3><<<(n + 127) / 128, 128>>>(out, x, n);
    template_int<5, true><<<(n + 127) / 128, 128>>>(out, x, n);
}
