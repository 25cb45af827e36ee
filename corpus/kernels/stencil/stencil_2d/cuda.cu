// Weighted sum of the (2 Radius + 1) x (2 Radius + 1) elements around each, zeros or the nearest element outside: a tile
// of 8 x 32 elements and a halo of Radius on each side in shared memory; blocks of 32 x 8 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE_X = 32, TILE_Y = 8;

template <typename T, int Radius>
__global__ void stencil_2d(T* __restrict__ out, const T* __restrict__ x, const float* __restrict__ weights, int rows,
                           int columns, long long x_stride, long long out_stride, int radius, int clamped) {
    __shared__ float tile[TILE_Y + 2 * Radius][TILE_X + 2 * Radius];
    const int row = blockIdx.y * TILE_Y + threadIdx.y, column = blockIdx.x * TILE_X + threadIdx.x;
    for (int i = threadIdx.y; i < TILE_Y + 2 * Radius; i += TILE_Y) {
        for (int j = threadIdx.x; j < TILE_X + 2 * Radius; j += TILE_X) {
            int r = (int)blockIdx.y * TILE_Y + i - Radius, c = (int)blockIdx.x * TILE_X + j - Radius;
            if (clamped) {
                r = max(0, min(r, rows - 1));
                c = max(0, min(c, columns - 1));
            }
            const bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
            tile[i][j] = inside ? static_cast<float>(x[r * x_stride + c]) : 0.0f;
        }
    }
    __syncthreads();
    if (row < rows && column < columns) {
        float sum = 0.0f;
        for (int i = 0; i <= 2 * Radius; ++i) {
            for (int j = 0; j <= 2 * Radius; ++j) {
                sum += weights[i * (2 * Radius + 1) + j] * tile[threadIdx.y + i][threadIdx.x + j];
            }
        }
        out[row * out_stride + column] = static_cast<T>(sum);
    }
}
