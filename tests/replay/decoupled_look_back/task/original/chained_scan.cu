// A linear recurrence h[i] = (m[i] | 1) * h[i-1] + b[i] of 32-bit words in one pass over memory. Tiles are chained by
// decoupled look-back, 32 predecessors at a time; flags are stored and loaded by PTX with release and acquire.
#include <cstdint>
#include <cub/block/block_scan.cuh>
#include <cuda_runtime.h>

constexpr int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS;
constexpr unsigned EMPTY = 0, AGGREGATE = 1, PREFIX = 2, ALL = 0xffffffffu;

// The map x -> mul * x + add.
struct Affine {
    uint32_t mul, add;
};

// One map after another: associative, but not commutative.
struct Then {
    __device__ __forceinline__ Affine operator()(const Affine &first, const Affine &second) const {
        Affine both = {second.mul * first.mul, second.mul * first.add + second.add};
        return both;
    }
};

__device__ __forceinline__ Affine identity() {
    Affine none = {1u, 0u};
    return none;
}

__device__ __forceinline__ Affine from_above(Affine x, int delta) {
    Affine r = {__shfl_down_sync(ALL, x.mul, delta), __shfl_down_sync(ALL, x.add, delta)};
    return r;
}

// Waits until the flag says something; the loop is in PTX, for lanes that wait for different tiles.
__device__ __forceinline__ uint32_t await_flag(const uint32_t *flag) {
    uint32_t v;
    asm volatile("{ .reg .pred empty;\n\t"
                 "WAIT: ld.acquire.gpu.global.u32 %0, [%1];\n\t"
                 "setp.eq.u32 empty, %0, 0;\n\t"
                 "@empty bra WAIT; }"
                 : "=r"(v) : "l"(flag) : "memory");
    return v;
}

// What this thread wrote before is seen by whoever loads the flag.
__device__ __forceinline__ void store_flag(uint32_t *flag, uint32_t v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(v) : "memory");
}

// The map of all tiles before `tile`, by one warp; publishes this tile's own on the way.
__device__ Affine look_back(int tile, int lane, Affine total, uint32_t *flags, uint2 *aggregates, uint2 *prefixes) {
    Then then;
    Affine before = identity();
    if (tile > 0) {
        if (lane == 0) {
            aggregates[tile] = make_uint2(total.mul, total.add);
            store_flag(flags + tile, AGGREGATE);
        }
        unsigned found = 0;
        for (int p = tile - 1 - lane; found == 0; p -= 32) {
            uint32_t flag = PREFIX;
            if (p >= 0) flag = await_flag(flags + p);
            __syncwarp();
            found = __ballot_sync(ALL, flag == PREFIX);
            // Lane 0 has the nearest tile; nothing counts beyond the nearest that knows its whole prefix.
            int stop = found ? __ffs(found) - 1 : 31;
            Affine value = identity();
            if (p >= 0 && lane <= stop) {
                uint2 held = flag == PREFIX ? prefixes[p] : aggregates[p];
                value.mul = held.x;
                value.add = held.y;
            }
            for (int d = 1; d < 32; d <<= 1) {
                Affine earlier = from_above(value, d);
                if (lane + d < 32) value = then(earlier, value);
            }
            value.mul = __shfl_sync(ALL, value.mul, 0);
            value.add = __shfl_sync(ALL, value.add, 0);
            before = then(value, before);
        }
    }
    if (lane == 0) {
        Affine whole = then(before, total);
        prefixes[tile] = make_uint2(whole.mul, whole.add);
        store_flag(flags + tile, PREFIX);
    }
    return before;
}

// counters: 2 words, flags: one a tile; zero before the first launch, and left at zero for the next one.
__global__ void recurrence(const uint32_t *__restrict__ m, const uint32_t *__restrict__ b, uint32_t *__restrict__ h,
                           uint32_t start, uint32_t *counters, uint32_t *flags, uint2 *aggregates, uint2 *prefixes,
                           int n) {
    typedef cub::BlockScan<Affine, THREADS, cub::BLOCK_SCAN_WARP_SCANS> Scan;
    __shared__ typename Scan::TempStorage storage;
    __shared__ uint32_t ticket, last;
    __shared__ Affine before_tile;

    // Tiles are handed out in the order in which blocks begin, so that no tile waits for one that has not begun.
    if (threadIdx.x == 0) ticket = atomicAdd(&counters[0], 1u);
    __syncthreads();
    const int tile = ticket, first = tile * TILE + threadIdx.x * ITEMS;

    Then then;
    Affine own[ITEMS], before, total;
    for (int i = 0; i < ITEMS; i++) {
        own[i] = identity();
        if (first + i < n) own[i] = {m[first + i] | 1u, b[first + i]};
        if (i > 0) own[i] = then(own[i - 1], own[i]);
    }
    Scan(storage).ExclusiveScan(own[ITEMS - 1], before, identity(), then, total);
    if (threadIdx.x < 32) {
        Affine tiles_before = look_back(tile, threadIdx.x, total, flags, aggregates, prefixes);
        if (threadIdx.x == 0) before_tile = tiles_before;
    }
    __syncthreads();

    before = then(before_tile, before);
    const uint32_t state = before.mul * start + before.add;
    for (int i = 0; i < ITEMS; i++)
        if (first + i < n) h[first + i] = own[i].mul * state + own[i].add;

    // Whoever ends last clears what the next launch needs clear: nobody looks at a flag any more.
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&counters[1], 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        for (int t = threadIdx.x; t < gridDim.x; t += THREADS) flags[t] = EMPTY;
        if (threadIdx.x < 2) counters[threadIdx.x] = 0u;
    }
}

void run(int n) {
    int tiles = (n + TILE - 1) / TILE;
    uint32_t *m, *b, *h, *counters, *flags;
    uint2 *aggregates, *prefixes;
    cudaMalloc(&m, n * sizeof(uint32_t));
    cudaMalloc(&b, n * sizeof(uint32_t));
    cudaMalloc(&h, n * sizeof(uint32_t));
    cudaMalloc(&counters, 2 * sizeof(uint32_t));
    cudaMalloc(&flags, tiles * sizeof(uint32_t));
    cudaMalloc(&aggregates, tiles * sizeof(uint2));
    cudaMalloc(&prefixes, tiles * sizeof(uint2));
    cudaMemset(counters, 0, 2 * sizeof(uint32_t));
    cudaMemset(flags, 0, tiles * sizeof(uint32_t));
    recurrence<<<tiles, THREADS>>>(m, b, h, 1u, counters, flags, aggregates, prefixes, n);
    cudaDeviceSynchronize();
}

int main() { run(20000); }
