// A product of half matrices through tiles in shared memory, summed in float by one thread an element.
#include <cuda_fp16.h>

constexpr int TILE = 16;

__global__ void half_product(const half *a, const half *b, half *c, int m, int n, int k) {
    __shared__ half sa[TILE][TILE], sb[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        int ak = first + threadIdx.x, bk = first + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = row < m && ak < k ? a[row * k + ak] : __float2half(0.0f);
        sb[threadIdx.y][threadIdx.x] = bk < k && col < n ? b[bk * n + col] : __float2half(0.0f);
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += __half2float(sa[threadIdx.y][i]) * __half2float(sb[i][threadIdx.x]);
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = __float2half(sum);
}

int main() {
    int m = 1024, n = 1024, k = 1024;
    half *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(half));
    cudaMalloc(&b, k * n * sizeof(half));
    cudaMalloc(&c, m * n * sizeof(half));
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    half_product<<<grid, block>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
    return 0;
}
