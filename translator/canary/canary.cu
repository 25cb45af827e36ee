// A kernel with the ordinary parts, for `cuteport doctor`: does this machine read, port and compile CUDA?
__device__ float halve(float value) { return value / 2; }

__global__ void canary(const float* in, float* out, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i < n) {
    out[i] = halve(tile[threadIdx.x]) + __shfl_xor_sync(0xffffffffu, tile[threadIdx.x], 1);
  }
}
