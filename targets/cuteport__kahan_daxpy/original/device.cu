#line 8 "kahan_daxpy.cu"
__device__ void kahan_add(double &sum, double &comp, double term)
{
    double y = __dsub_rn(term, comp);
    double t = __dadd_rn(sum, y);
    comp = __dsub_rn(__dsub_rn(t, sum), y);
    sum = t;
}

#line 16 "kahan_daxpy.cu"
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
