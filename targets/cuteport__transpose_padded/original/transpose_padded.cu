// Out-of-place matrix transpose through a shared tile. The extra column keeps the column reads of
// the tile free of bank conflicts.

#include <cuda_runtime.h>
#include <cassert>
#include <vector>

const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;

__global__ void transpose_padded(float *odata, const float *idata, int width, int height)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < width && (y + j) < height)
            tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;  // the block's place in the transposed matrix
    y = blockIdx.x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < height && (y + j) < width)
            odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main()
{
    const int nx = 1023, ny = 517;
    std::vector<float> h_in(nx * ny), h_out(nx * ny);
    for (int i = 0; i < nx * ny; i++)
        h_in[i] = i;

    float *d_in, *d_out;
    cudaMalloc(&d_in, nx * ny * sizeof(float));
    cudaMalloc(&d_out, nx * ny * sizeof(float));
    cudaMemcpy(d_in, h_in.data(), nx * ny * sizeof(float), cudaMemcpyHostToDevice);

    dim3 dimGrid((nx + TILE_DIM - 1) / TILE_DIM, (ny + TILE_DIM - 1) / TILE_DIM, 1);
    dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
    transpose_padded<<<dimGrid, dimBlock>>>(d_out, d_in, nx, ny);

    cudaMemcpy(h_out.data(), d_out, nx * ny * sizeof(float), cudaMemcpyDeviceToHost);
    for (int r = 0; r < ny; r++)
        for (int c = 0; c < nx; c++)
            assert(h_out[c * ny + r] == h_in[r * nx + c]);
    cudaFree(d_in);
    cudaFree(d_out);
    return 0;
}
