/* C = alpha * A * B + beta * C, row major, any M, N, K.
 *
 * Each block of 256 threads makes a 64 x 64 tile of C; each thread 4 x 4 of it in registers.
 * K is walked 16 at a time through shared memory. A is stored transposed in shared memory so that
 * a thread's four values of a column lie side by side.
 */
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4

__global__ __launch_bounds__(256) void sgemm_tiled(int M, int N, int K, float alpha, const float *A,
                                                   const float *B, float beta, float *C)
{
    __shared__ float As[BK][BM + 4];   /* +4: fewer bank conflicts when A is stored transposed */
    __shared__ float Bs[BK][BN];

    int tid = threadIdx.x;
    int tx = tid % (BN / TN);
    int ty = tid / (BN / TN);
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    float acc[TM][TN] = {{0.0f}};

    for (int k0 = 0; k0 < K; k0 += BK) {
        /* 64 x 16 of A and 16 x 64 of B: four elements of each per thread */
#pragma unroll
        for (int i = 0; i < BM * BK / 256; i++) {
            int e = tid + i * 256;
            int ar = e / BK, ac = e % BK;
            int br = e / BN, bc = e % BN;
            As[ac][ar] = (row0 + ar < M && k0 + ac < K) ? A[(row0 + ar) * K + k0 + ac] : 0.0f;
            Bs[br][bc] = (k0 + br < K && col0 + bc < N) ? B[(k0 + br) * N + col0 + bc] : 0.0f;
        }
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i++) a[i] = As[k][ty * TM + i];
#pragma unroll
            for (int j = 0; j < TN; j++) b[j] = Bs[k][tx * TN + j];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; i++) {
        int r = row0 + ty * TM + i;
        if (r >= M) break;
#pragma unroll
        for (int j = 0; j < TN; j++) {
            int c = col0 + tx * TN + j;
            if (c < N)
                C[r * N + c] = alpha * acc[i][j] + beta * C[r * N + c];
        }
    }
}

int main(int argc, char **argv)
{
    int M = 1000, N = 1100, K = 900;
    if (argc == 4) {
        M = atoi(argv[1]);
        N = atoi(argv[2]);
        K = atoi(argv[3]);
    }
    float *A, *B, *C;
    cudaMallocManaged(&A, sizeof(float) * M * K);
    cudaMallocManaged(&B, sizeof(float) * K * N);
    cudaMallocManaged(&C, sizeof(float) * M * N);
    for (int i = 0; i < M * K; i++) A[i] = 1.0f;
    for (int i = 0; i < K * N; i++) B[i] = 0.5f;
    for (int i = 0; i < M * N; i++) C[i] = 1.0f;

    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm_tiled<<<grid, 256>>>(M, N, K, 1.0f, A, B, 2.0f, C);
    cudaDeviceSynchronize();

    float want = 0.5f * K + 2.0f;
    for (int i = 0; i < M * N; i++)
        if (C[i] != want) {
            printf("C[%d] = %f, expected %f\n", i, C[i], want);
            return 1;
        }
    printf("ok\n");
    return 0;
}
