__global__ void compact(int n, const float* x, float* kept, int* at, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !(x[i] < 0.0f)) {
    int k = atomicAdd(count, 1);
    kept[k] = x[i];
    at[k] = i;
  }
}
