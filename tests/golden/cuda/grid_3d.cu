// All three axes of grid and block, with extents that do not divide.
#include <cuda_runtime.h>

__global__ void grid_3d(float *out, const float *x, int w, int h, int d)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int iz = blockIdx.z * blockDim.z + threadIdx.z;
    if (ix < w && iy < h && iz < d) {
        size_t at = ((size_t)iz * h + iy) * w + ix;
        out[at] = x[at] + gridDim.x * 100 + gridDim.y * 10 + gridDim.z + (threadIdx.x ^ threadIdx.y ^ threadIdx.z);
    }
}

void run(float *out, const float *x, int w, int h, int d)
{
    dim3 block(8, 4, 2);
    dim3 grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y, (d + block.z - 1) / block.z);
    grid_3d<<<grid, block>>>(out, x, w, h, d);
}
