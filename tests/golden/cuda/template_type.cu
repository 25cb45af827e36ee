// A kernel template on a type, with a specialised device function; launched for three types.
#include <cuda_runtime.h>

template <typename T> __device__ T half_of(T v) { return v / 2; }
template <> __device__ float half_of<float>(float v) { return v * 0.5f; }

template <typename T>
__global__ void template_type(T *out, const T *x, T limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = x[i];
    if (v > limit)
        v = static_cast<T>(limit + half_of<T>(v - limit));
    out[i] = v + T(sizeof(T));
}

void run(float *f, const float *fx, double *d, const double *dx, int *k, const int *kx, int n)
{
    template_type<<<(n + 127) / 128, 128>>>(f, fx, 0.25f, n);
    template_type<double><<<(n + 127) / 128, 128>>>(d, dx, 0.25, n);
    template_type<int><<<(n + 127) / 128, 128>>>(k, kx, 100, n);
}
