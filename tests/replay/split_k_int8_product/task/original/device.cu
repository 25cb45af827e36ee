#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
#else
#include <cstdint>
#include <sys/types.h>
#endif

constexpr int ROWS = 32, COLS = 32, DEPTH = 32, THREADS = 128, STRIDE = DEPTH + 16;
#line 8 "quantized_product.cu"
__device__ __forceinline__ void multiply(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#line 16 "quantized_product.cu"
__device__ __forceinline__ void add_to(int *sum, int part) {
    asm volatile("{ .reg .pred some;\n\t"
                 "setp.ne.s32 some, %1, 0;\n\t"
                 "@some red.relaxed.gpu.global.add.s32 [%0], %1; }" ::"l"(sum), "r"(part) : "memory");
}

#line 22 "quantized_product.cu"
__device__ __forceinline__ int8_t to_byte(float x) {
    int r;
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(r) : "f"(x));
    return static_cast<int8_t>(r);
}

#line 28 "quantized_product.cu"
__device__ __forceinline__ unsigned word(const int8_t *tile, int row, int byte) {
    return *reinterpret_cast<const unsigned *>(tile + row * STRIDE + byte);
}

#line 33 "quantized_product.cu"
__device__ void stage(int8_t *tile, const int8_t *from, int first, int rows, int k0, int end, int k) {
    for (int i = threadIdx.x; i < ROWS * DEPTH / 4; i += THREADS) {
        int r = i / (DEPTH / 4), byte = i % (DEPTH / 4) * 4, at = k0 + byte;
        unsigned bytes = 0;
        if (first + r < rows) {
            const int8_t *p = from + (size_t)(first + r) * k + at;
            if (k % 4 == 0 && at + 4 <= end) {
                bytes = *reinterpret_cast<const unsigned *>(p);
            } else {
                for (int j = 0; j < 4; j++)
                    if (at + j < end) bytes |= (unsigned)(uint8_t)p[j] << (8 * j);
            }
        }
        *reinterpret_cast<unsigned *>(tile + r * STRIDE + byte) = bytes;
    }
}

#line 52 "quantized_product.cu"
__global__ void __launch_bounds__(THREADS) quantized_product(const int8_t *a, const int8_t *b, const float *row_scale,
                                                             const float *col_scale, const float *bias, int8_t *out,
                                                             int *sums, unsigned *tickets, int m, int n, int k,
                                                             int zero) {
    __shared__ __align__(16) int8_t sA[ROWS * STRIDE], sB[COLS * STRIDE];
    __shared__ int col_sum[COLS];
    __shared__ bool last;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4;
    const int row0 = blockIdx.y * ROWS, col0 = blockIdx.x * COLS;
    const int own_row = warp / 2 * 16, own_col = warp % 2 * 16;
    // Each block of z has a part of k in whole slabs; the last ones may have none.
    const int slabs = (k + DEPTH - 1) / DEPTH, each = (slabs + gridDim.z - 1) / gridDim.z * DEPTH;
    const int begin = min(k, (int)blockIdx.z * each), end = min(k, begin + each);

    int d[2][4] = {}, of_b = 0;
    for (int k0 = begin; k0 < end; k0 += DEPTH) {
        stage(sA, a, row0, m, k0, end, k);
        stage(sB, b, col0, n, k0, end, k);
        __syncthreads();
        unsigned fragment[4] = {word(sA, own_row + group, pair * 4), word(sA, own_row + group + 8, pair * 4),
                                word(sA, own_row + group, pair * 4 + 16), word(sA, own_row + group + 8, pair * 4 + 16)};
        for (int t = 0; t < 2; t++) {
            int col = own_col + t * 8 + group;
            multiply(d[t], fragment, word(sB, col, pair * 4), word(sB, col, pair * 4 + 16));
        }
        if (threadIdx.x < COLS)  // what the zero point takes away
            for (int j = 0; j < DEPTH; j += 4) of_b = __dp4a((int)word(sB, threadIdx.x, j), 0x01010101, of_b);
        __syncthreads();
    }
    if (threadIdx.x < COLS) col_sum[threadIdx.x] = of_b;
    __syncthreads();

    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 4; i++) {
            int row = row0 + own_row + group + i / 2 * 8, in_tile = own_col + t * 8 + pair * 2 + i % 2;
            int col = col0 + in_tile;
            if (row < m && col < n) add_to(&sums[(size_t)row * n + col], d[t][i] - zero * col_sum[in_tile]);
        }
    __syncthreads();
    if (threadIdx.x == 0) {  // its fence orders what the barrier showed it, the whole block's part
        __threadfence();
        // The ticket goes back to zero by itself.
        last = atomicInc(&tickets[blockIdx.y * gridDim.x + blockIdx.x], gridDim.z - 1) == gridDim.z - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    for (int i = threadIdx.x; i < ROWS * COLS; i += THREADS) {
        int row = row0 + i / COLS, col = col0 + i % COLS;
        if (row >= m || col >= n) continue;
        size_t at = (size_t)row * n + col;
        int sum = __ldcg(&sums[at]);
        // Rounded step by step as written: a contraction would turn a byte now and then.
        float x = __fmul_rn(__fmul_rn(row_scale[row], col_scale[col]), (float)sum);
        out[at] = to_byte(__fadd_rn(x, bias[col]));
        sums[at] = 0;
    }
}
