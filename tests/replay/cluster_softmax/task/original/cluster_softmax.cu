// Softmax of long rows by clusters of four blocks: each keeps a quarter of a row in shared memory, and tells its
// largest element and its sum to the shared memory of all four; rows follow one another with one barrier each.
#include <cuda_runtime.h>
#include <math_constants.h>

constexpr int BLOCKS = 4, THREADS = 128, WARPS = THREADS / 32, ROOM = 512;

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Writes a pair to where `own` lies in the shared memory of another block of the cluster.
__device__ __forceinline__ void tell(const float2 *own, unsigned rank, float2 pair) {
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(own));
    asm volatile("{ .reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "st.shared::cluster.v2.f32 [there], {%2, %3}; }" ::"r"(at), "r"(rank), "f"(pair.x), "f"(pair.y)
                 : "memory");
}

__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The largest element and the sum of powers below it, of two sets; none is (-infinity, 0).
__device__ __forceinline__ float2 join(float2 a, float2 b) {
    float top = fmaxf(a.x, b.x);
    if (top == -CUDART_INF_F) return make_float2(top, 0.0f);
    return make_float2(top, a.y * exp2f(a.x - top) + b.y * exp2f(b.x - top));
}

__device__ float2 join_block(float2 own, float2 *per_warp) {
    for (int d = 16; d > 0; d >>= 1) {
        float2 other = make_float2(__shfl_xor_sync(~0u, own.x, d), __shfl_xor_sync(~0u, own.y, d));
        own = threadIdx.x & d ? join(other, own) : join(own, other);  // the same bits in all lanes
    }
    if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = own;
    __syncthreads();
    float2 all = per_warp[0];
    for (int w = 1; w < WARPS; w++) all = join(all, per_warp[w]);
    return all;
}

// in, out: rows x width, width at most 2048; log_sums: the logarithm of each row's sum of powers. An element that is
// -infinity counts for nothing; a row of nothing else gets zeros and -infinity.
__global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS)
    cluster_softmax(const float *in, float *out, float *log_sums, int rows, int width, float scale) {
    __shared__ float part[ROOM];
    __shared__ float2 told[2][BLOCKS], per_warp[2][WARPS];
    const unsigned rank = rank_in_cluster();
    const int share = (width + BLOCKS - 1) / BLOCKS, begin = min(width, (int)rank * share);
    const int length = min(width, begin + share) - begin, clusters = gridDim.x / BLOCKS;
    const float factor = scale * 1.4426950408889634f;
    int turn = 0;
    cluster_barrier();  // nobody writes to a block that has not begun
    for (int row = blockIdx.x / BLOCKS; row < rows; row += clusters, turn ^= 1) {
        const float *from = in + (size_t)row * width + begin;
        float2 own = make_float2(-CUDART_INF_F, 0.0f);
        for (int i = threadIdx.x; i < length; i += THREADS) {
            float x = from[i] * factor;
            part[i] = x;  // read again by the same thread only
            own = join(own, make_float2(x, 1.0f));
        }
        own = join_block(own, per_warp[turn]);
        // Pairs of this row and of the next have places of their own: a block may be one row ahead, but not two.
        if (threadIdx.x < BLOCKS) tell(&told[turn][rank], threadIdx.x, own);
        cluster_barrier();
        float2 all = told[turn][0];
        for (int b = 1; b < BLOCKS; b++) all = join(all, told[turn][b]);
        const float over = all.y > 0.0f ? 1.0f / all.y : 0.0f, base = all.y > 0.0f ? all.x : 0.0f;
        for (int i = threadIdx.x; i < length; i += THREADS)
            out[(size_t)row * width + begin + i] = exp2f(part[i] - base) * over;
        if (rank == 0 && threadIdx.x == 0)
            log_sums[row] = all.y > 0.0f ? (all.x + log2f(all.y)) * 0.6931471805599453f : -CUDART_INF_F;
    }
}

void run(int rows, int width, int clusters) {
    float *in, *out, *log_sums;
    cudaMalloc(&in, rows * width * sizeof(float));
    cudaMalloc(&out, rows * width * sizeof(float));
    cudaMalloc(&log_sums, rows * sizeof(float));
    cluster_softmax<<<clusters * BLOCKS, THREADS>>>(in, out, log_sums, rows, width, 0.5f);
    cudaDeviceSynchronize();
}

int main() { run(7, 1001, 2); }
