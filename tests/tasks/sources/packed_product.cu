// A product of half matrices by the tensor cores of a warp group, out = max(a b + bias, 0): a warp of its own copies
// packed tiles of b into a ring of stages; full and empty stages are told by barriers in shared memory.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int ROWS = 64, COLS = 32, DEPTH = 64, STAGES = 3, CONSUMERS = 128, THREADS = CONSUMERS + 32;
constexpr unsigned TILE_BYTES = COLS * DEPTH * sizeof(half);
// Packed tiles are made of 8 x 8 halves, 8 of k in a row: 128 bytes to the next 8 columns, then the next 8 of k.
constexpr uint64_t NEXT_COLS = 128, NEXT_DEPTH = COLS / 8 * NEXT_COLS;

__device__ __forceinline__ unsigned shared_address(const void *p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void barrier_init(uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_wait(uint64_t *barrier, unsigned parity) {
    asm volatile("{ .reg .pred done;\n\t"
                 "WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra WAIT; }" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared_address(barrier))
                 : "memory");
}

// One thread tells how many bytes will come, and has them copied; the barrier's phase ends when they are there.
__device__ __forceinline__ void copy_tile(half *to, const half *from, uint64_t *barrier) {
    asm volatile("{ .reg .b64 state;\n\t"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%2], %3;\n\t"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %3, [%2]; }" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(shared_address(barrier)), "r"(TILE_BYTES)
                 : "memory");
}

// Where 16 of k of a tile begin, for the tensor cores: address and strides in units of 16 bytes, no swizzle.
__device__ __forceinline__ uint64_t describe(const half *tile, int step) {
    uint64_t address = shared_address(tile) + step * 2 * NEXT_DEPTH;
    return (address >> 4 & 0x3fff) | (NEXT_DEPTH >> 4) << 16 | (NEXT_COLS >> 4) << 32;
}

__device__ __forceinline__ void multiply(float (&d)[16], const unsigned (&a)[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                 "{%16, %17, %18, %19}, %20, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Two neighbours of a row of a, zeros beyond the matrix.
__device__ __forceinline__ unsigned two_of(const half *a, int row, int at, int m, int k) {
    const half *p = a + (size_t)row * k + at;
    half low = row < m && at < k ? p[0] : __float2half(0.0f);
    half high = row < m && at + 1 < k ? p[1] : __float2half(0.0f);
    __half2 both = __halves2half2(low, high);
    return *reinterpret_cast<unsigned *>(&both);
}

// a: m x k; packed: b in tiles of 32 columns and 64 of k, the tiles of the same columns one after another, what is
// beyond k arbitrary; out: m x n.
__global__ void __launch_bounds__(THREADS) packed_product(const half *a, const half *packed, const float *bias,
                                                          half *out, int m, int n, int k) {
    __shared__ __align__(128) half tiles[STAGES][COLS * DEPTH];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    const int steps = (k + DEPTH - 1) / DEPTH;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(&full[s], 1);
            barrier_init(&empty[s], CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();

    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x == CONSUMERS) {
            const half *from = packed + (size_t)blockIdx.x * steps * COLS * DEPTH;
            for (int t = 0; t < steps; t++) {
                const int stage = t % STAGES, round = t / STAGES;
                if (round > 0) barrier_wait(&empty[stage], (round - 1) & 1);
                copy_tile(tiles[stage], from + (size_t)t * COLS * DEPTH, &full[stage]);
            }
        }
        return;
    }
    const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
    const int row = blockIdx.y * ROWS + threadIdx.x / 32 * 16 + group;
    float sums[16] = {};
    for (int t = 0; t < steps; t++) {
        const int stage = t % STAGES;
        unsigned fragment[DEPTH / 16][4];
        for (int s = 0; s < DEPTH / 16; s++)
            for (int i = 0; i < 4; i++)
                fragment[s][i] = two_of(a, row + i % 2 * 8, t * DEPTH + s * 16 + i / 2 * 8 + pair * 2, m, k);
        barrier_wait(&full[stage], (t / STAGES) & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int s = 0; s < DEPTH / 16; s++) multiply(sums, fragment[s], describe(tiles[stage], s));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        barrier_arrive(&empty[stage]);
    }
    for (int i = 0; i < 16; i++) {
        const int to = row + i / 2 % 2 * 8, col = blockIdx.x * COLS + i / 4 * 8 + pair * 2 + i % 2;
        if (to < m && col < n) out[(size_t)to * n + col] = __float2half(fmaxf(sums[i] + bias[col], 0.0f));
    }
}

void run(int m, int n, int k) {
    half *a, *packed, *out;
    float *bias;
    dim3 grid((n + COLS - 1) / COLS, (m + ROWS - 1) / ROWS);
    cudaMalloc(&a, m * k * sizeof(half));
    cudaMalloc(&packed, grid.x * ((k + DEPTH - 1) / DEPTH) * COLS * DEPTH * sizeof(half));
    cudaMalloc(&bias, n * sizeof(float));
    cudaMalloc(&out, m * n * sizeof(half));
    packed_product<<<grid, THREADS>>>(a, packed, bias, out, m, n, k);
    cudaDeviceSynchronize();
}

int main() { run(100, 50, 300); }
