#define BLOCK 512

__global__ void rmsnorm_fp32(float* o, const float* x, const float* weight, int size) {
    __shared__ float scratch[BLOCK];
    float ss = 0.0f;
    const float* xi = x + blockIdx.x * size;
    for (int j = threadIdx.x; j < size; j += BLOCK) ss += xi[j] * xi[j];
    scratch[threadIdx.x] = ss;
    __syncthreads();
    for (int half = BLOCK / 2; half >= 1; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    ss = 1.0f / sqrtf(scratch[0] / size + 1e-5f);
    for (int j = threadIdx.x; j < size; j += BLOCK) o[blockIdx.x * size + j] = weight[j] * (ss * xi[j]);
}

void rmsnorm(float* o, const float* x, const float* w, int n, int size) { rmsnorm_fp32<<<n, BLOCK>>>(o, x, w, size); }
