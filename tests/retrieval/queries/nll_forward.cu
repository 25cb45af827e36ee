#include <cub/cub.cuh>
#include <cuda_bf16.h>

// loss[i] = -log softmax(logits[i])[label[i]]
template <int N>
__global__ void nll(float* losses, const __nv_bfloat16* logits, const int64_t* labels, int V, int ignore) {
    typedef cub::BlockReduce<float, N> R;
    __shared__ typename R::TempStorage ws;
    __shared__ float mx, den;
    const __nv_bfloat16* x = logits + (size_t)blockIdx.x * V;
    float a = -INFINITY;
    for (int j = threadIdx.x; j < V; j += N) a = fmaxf(a, __bfloat162float(x[j]));
    a = R(ws).Reduce(a, cub::Max());
    if (threadIdx.x == 0) mx = a;
    __syncthreads();
    float b = 0.f;
    for (int j = threadIdx.x; j < V; j += N) b += __expf(__bfloat162float(x[j]) - mx);
    b = R(ws).Sum(b);
    if (threadIdx.x == 0) {
        den = b;
        const int64_t y = labels[blockIdx.x];
        losses[blockIdx.x] = y == ignore ? 0.f : __logf(den) + mx - __bfloat162float(x[y]);
    }
}
template __global__ void nll<512>(float*, const __nv_bfloat16*, const int64_t*, int, int);
