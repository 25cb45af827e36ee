__global__ void row_sum(int cols, const float* x, float* out) {
  __shared__ float part[128];
  float s = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 128) s += x[blockIdx.x * cols + c];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
