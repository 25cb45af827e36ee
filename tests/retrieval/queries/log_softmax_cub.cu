#include <cub/cub.cuh>

template <class real, int B>
__global__ void log_probs(real* lp, const real* z, int width) {
    using Red = cub::BlockReduce<real, B>;
    __shared__ union { typename Red::TempStorage a; typename Red::TempStorage b; } mem;
    __shared__ real peak, logsum;
    real v = real(-1e30);
    for (int k = threadIdx.x; k < width; k += B) v = max(v, z[blockIdx.x * width + k]);
    v = Red(mem.a).Reduce(v, cub::Max());
    if (threadIdx.x == 0) peak = v;
    __syncthreads();
    real t = 0;
    for (int k = threadIdx.x; k < width; k += B) t += exp(z[blockIdx.x * width + k] - peak);
    t = Red(mem.b).Sum(t);
    if (threadIdx.x == 0) logsum = log(t);
    __syncthreads();
    for (int k = threadIdx.x; k < width; k += B) lp[blockIdx.x * width + k] = z[blockIdx.x * width + k] - peak - logsum;
}
template __global__ void log_probs<float, 256>(float*, const float*, int);
