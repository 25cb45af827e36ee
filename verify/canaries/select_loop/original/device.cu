// ptxas of CUDA 13.0 makes wrong machine code of this kernel at -O2 and -O3 for sm_90: of 187 it makes 26, where
// C++ and the kernel's own PTX say 6268. It is right at -O1 and -O0, and without the first loop.
__global__ void select_loop(const int *values, int *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = values[i], sum = 0;
    for (float f = 1.0f; f > 0.01f; f *= 0.5f) sum += f < 0.3f;
    for (int d = v; d > -v; d -= 3) sum += d < 0 ? 100 : 1;
    sums[i] = sum;
}
