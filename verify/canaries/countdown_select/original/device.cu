// ptxas of CUDA 13.0 gets this kernel right at every level. The port is another matter: see port.py.
__global__ void countdown_select(const int *values, int *sums) {
    int v = values[threadIdx.x], sum = 0;
    for (int d = v; d > -v; d -= 3) sum += d < 0 ? 100 : 1;
    sums[threadIdx.x] = sum;
}
