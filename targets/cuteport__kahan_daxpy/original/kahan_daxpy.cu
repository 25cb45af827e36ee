// y += a * x in double precision with a running compensation per element (Kahan), for sums over very
// many time steps. The rounding intrinsics keep the compiler from contracting or reordering.

#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>

__device__ void kahan_add(double &sum, double &comp, double term)
{
    double y = __dsub_rn(term, comp);
    double t = __dadd_rn(sum, y);
    comp = __dsub_rn(__dsub_rn(t, sum), y);
    sum = t;
}

__global__ void kahan_daxpy(const size_t n, const double a, const double *x, double *y, double *comp)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        double s = y[i];
        double c = comp[i];
        kahan_add(s, c, __dmul_rn(a, x[i]));
        y[i] = s;
        comp[i] = c;
    }
}

int main()
{
    const size_t n = 1 << 18;
    double *x, *y, *comp;
    cudaMallocManaged(&x, n * sizeof(double));
    cudaMallocManaged(&y, n * sizeof(double));
    cudaMallocManaged(&comp, n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        x[i] = 0.1;
        y[i] = 1e6;
        comp[i] = 0.0;
    }
    const int steps = 10000;
    const int blocks = (int)((n + 127) / 128);
    for (int s = 0; s < steps; s++)
        kahan_daxpy<<<blocks, 128>>>(n, 0.01, x, y, comp);
    cudaDeviceSynchronize();
    printf("error %g\n", fabs(y[0] - (1e6 + steps * 0.001)));
    return 0;
}
