#define RADIUS 2
#define KSIZE (2 * RADIUS + 1)
#define TILE_W 32
#define TILE_H 16
#define SMEM_W (TILE_W + 2 * RADIUS)
#define SMEM_H (TILE_H + 2 * RADIUS)
__constant__ float c_coef[KSIZE * KSIZE];
#line 15 "conv5x5_const.cu"
__global__ void conv5x5_const(const float *__restrict__ src, float *__restrict__ dst, int width, int height)
{
    __shared__ float smem[SMEM_H * SMEM_W];

    const int x0 = blockIdx.x * TILE_W - RADIUS;
    const int y0 = blockIdx.y * TILE_H - RADIUS;
    const int tid = threadIdx.y * TILE_W + threadIdx.x;

    /* the tile and its apron, by all threads of the block */
    for (int k = tid; k < SMEM_H * SMEM_W; k += TILE_W * TILE_H) {
        const int x = x0 + k % SMEM_W;
        const int y = y0 + k / SMEM_W;
        const bool inside = x >= 0 && x < width && y >= 0 && y < height;
        smem[k] = inside ? src[y * width + x] : 0.0f;
    }
    __syncthreads();

    const int x = blockIdx.x * TILE_W + threadIdx.x;
    const int y = blockIdx.y * TILE_H + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < KSIZE; j++) {
            const float *line = &smem[(threadIdx.y + j) * SMEM_W + threadIdx.x];
#pragma unroll
            for (int i = 0; i < KSIZE; i++)
                sum += c_coef[j * KSIZE + i] * line[i];
        }
        dst[y * width + x] = sum;
    }
}
