#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4
#line 17 "sgemm_tiled.cu"
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
