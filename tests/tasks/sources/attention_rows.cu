// Attention without the matrix of scores: online softmax over tiles of 32 keys, products by mma.sync, operands by
// ldmatrix from a swizzled tile of shared memory that cp.async fills while the other one is used.
#include <cuda_fp16.h>
#include <math_constants.h>

constexpr int DIM = 64, QUERIES = 32, KEYS = 32, THREADS = 64, CHUNKS = DIM / 8;

// Chunks of 8 halves trade places within a row, so that 8 rows of one column lie in different banks.
__device__ __forceinline__ unsigned place(const half *tile, int row, int chunk) {
    return static_cast<unsigned>(__cvta_generic_to_shared(tile + row * DIM + ((chunk ^ (row & 7)) << 3)));
}

__device__ __forceinline__ void copy16(unsigned to, const half *from, bool there) {
    int bytes = there ? 16 : 0;  // what is not there is filled with zeros
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

__device__ __forceinline__ void load4(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from));
}

__device__ __forceinline__ void load4_transposed(unsigned (&r)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from));
}

__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned pack(float low, float high) {
    __half2 two = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned *>(&two);
}

// Rows [first, first + ROWS) of a matrix of `rows` rows; the caller commits.
template <int ROWS> __device__ void fetch(half *tile, const half *from, int first, int rows) {
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
        int row = i / CHUNKS, chunk = i % CHUNKS, at = first + row;
        bool there = at < rows;
        copy16(place(tile, row, chunk), from + (size_t)(there ? at : 0) * DIM + chunk * 8, there);
    }
}

// q, o: heads x queries x 64; k, v: heads x keys x 64; log_sums: heads x queries. With `causal` the last query sees
// all keys, and each one before it one key less; a query that sees none gets zeros and -infinity.
__global__ void __launch_bounds__(THREADS) attention_rows(const half *q, const half *k, const half *v, half *o,
                                                          float *log_sums, int queries, int keys, float scale,
                                                          int causal) {
    __shared__ __align__(128) half sQ[QUERIES * DIM], sK[2][KEYS * DIM], sV[2][KEYS * DIM];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4;
    const int first = blockIdx.x * QUERIES, shift = keys - queries;
    q += (size_t)blockIdx.y * queries * DIM;
    k += (size_t)blockIdx.y * keys * DIM;
    v += (size_t)blockIdx.y * keys * DIM;
    const int seen = causal ? min(keys, min(first + QUERIES, queries) + shift) : keys;
    const int tiles = seen > 0 ? (seen + KEYS - 1) / KEYS : 0;

    fetch<QUERIES>(sQ, q, first, queries);
    if (tiles > 0) {
        fetch<KEYS>(sK[0], k, 0, keys);
        fetch<KEYS>(sV[0], v, 0, keys);
    }
    asm volatile("cp.async.commit_group;");

    unsigned rQ[DIM / 16][4];
    float sums[CHUNKS][4] = {}, top[2] = {-CUDART_INF_F, -CUDART_INF_F}, total[2] = {0.0f, 0.0f};
    const float factor = scale * 1.4426950408889634f;  // powers of 2 in place of e
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) {
            fetch<KEYS>(sK[(t + 1) & 1], k, (t + 1) * KEYS, keys);
            fetch<KEYS>(sV[(t + 1) & 1], v, (t + 1) * KEYS, keys);
            asm volatile("cp.async.commit_group;");
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        if (t == 0)
            for (int d = 0; d < DIM / 16; d++) load4(rQ[d], place(sQ, warp * 16 + lane % 16, d * 2 + lane / 16));

        float score[KEYS / 8][4] = {};
        for (int d = 0; d < DIM / 16; d++)
            for (int n = 0; n < KEYS / 16; n++) {
                unsigned b[4];
                load4(b, place(sK[t & 1], n * 16 + lane / 16 * 8 + lane % 8, d * 2 + lane / 8 % 2));
                multiply(score[n * 2], rQ[d], b[0], b[1]);
                multiply(score[n * 2 + 1], rQ[d], b[2], b[3]);
            }

        for (int h = 0; h < 2; h++) {  // the thread's two rows: `group` and `group + 8` of the warp's 16
            const int row = first + warp * 16 + group + h * 8;
            float most = top[h];
            for (int n = 0; n < KEYS / 8; n++)
                for (int c = 0; c < 2; c++) {
                    int key = t * KEYS + n * 8 + pair * 2 + c;
                    bool hidden = key >= keys || (causal && key > row + shift);
                    float &s = score[n][h * 2 + c];
                    s = hidden ? -CUDART_INF_F : s * factor;
                    most = fmaxf(most, s);
                }
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
            const float base = most == -CUDART_INF_F ? 0.0f : most;  // nothing seen yet: no difference of infinities
            const float less = exp2f(top[h] - base);
            top[h] = most;
            total[h] *= less;
            for (int n = 0; n < KEYS / 8; n++)
                for (int c = 0; c < 2; c++) {
                    float &s = score[n][h * 2 + c];
                    s = exp2f(s - base);
                    total[h] += s;
                }
            for (int n = 0; n < CHUNKS; n++) {
                sums[n][h * 2] *= less;
                sums[n][h * 2 + 1] *= less;
            }
        }

        for (int s = 0; s < KEYS / 16; s++) {
            const float *low = score[s * 2], *high = score[s * 2 + 1];
            unsigned p[4] = {pack(low[0], low[1]), pack(low[2], low[3]), pack(high[0], high[1]), pack(high[2], high[3])};
            for (int n = 0; n < CHUNKS / 2; n++) {
                unsigned b[4];
                load4_transposed(b, place(sV[t & 1], s * 16 + lane % 16, n * 2 + lane / 16));
                multiply(sums[n * 2], p, b[0], b[1]);
                multiply(sums[n * 2 + 1], p, b[2], b[3]);
            }
        }
        __syncthreads();  // nobody reads this tile any more: it may be filled again
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

    for (int h = 0; h < 2; h++) {
        const int row = first + warp * 16 + group + h * 8;
        total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
        total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
        if (row >= queries) continue;
        const float share = total[h] > 0.0f ? 1.0f / total[h] : 0.0f;
        half *to = o + ((size_t)blockIdx.y * queries + row) * DIM;
        for (int n = 0; n < CHUNKS; n++)
            reinterpret_cast<unsigned *>(to)[n * 4 + pair] = pack(sums[n][h * 2] * share, sums[n][h * 2 + 1] * share);
        if (pair == 0)
            log_sums[(size_t)blockIdx.y * queries + row] =
                total[h] > 0.0f ? top[h] * 0.6931471805599453f + logf(total[h]) : -CUDART_INF_F;
    }
}

void run(int heads, int queries, int keys) {
    half *q, *k, *v, *o;
    float *log_sums;
    cudaMalloc(&q, heads * queries * DIM * sizeof(half));
    cudaMalloc(&k, heads * keys * DIM * sizeof(half));
    cudaMalloc(&v, heads * keys * DIM * sizeof(half));
    cudaMalloc(&o, heads * queries * DIM * sizeof(half));
    cudaMalloc(&log_sums, heads * queries * sizeof(float));
    dim3 grid((queries + QUERIES - 1) / QUERIES, heads);
    attention_rows<<<grid, THREADS>>>(q, k, v, o, log_sums, queries, keys, 0.125f, 1);
    cudaDeviceSynchronize();
}

int main() { run(4, 100, 130); }
