// The first places of each row, sorted, with the columns that they came from: a stable radix sort of 512 floats by one
// block, whose digits are ranked within warps by matching lanes and across warps by cub::BlockScan.
#include <cstdint>
#include <cub/block/block_scan.cuh>
#include <cuda_runtime.h>

constexpr int THREADS = 128, WARPS = THREADS / 32, ITEMS = 4, TILE = THREADS * ITEMS, BITS = 4, BINS = 1 << BITS;
constexpr unsigned ALL = 0xffffffffu;

__device__ __forceinline__ unsigned lanes_before() {
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

__device__ __forceinline__ unsigned digit_of(unsigned key, int bit, int bits) {
    unsigned digit;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(digit) : "r"(key), "r"(bit), "r"(bits));
    return digit;
}

// Floats as words of the same order: negative ones turned over, positive ones above them. -0 lies before 0.
__device__ __forceinline__ unsigned ordered(float x, bool descending) {
    unsigned bits = __float_as_uint(x);
    bits ^= (bits >> 31) ? ALL : 0x80000000u;
    return descending ? ~bits : bits;
}

__device__ __forceinline__ float restored(unsigned bits, bool descending) {
    if (descending) bits = ~bits;
    bits ^= (bits >> 31) ? 0x80000000u : ALL;
    return __uint_as_float(bits);
}

struct Shared {
    typename cub::BlockScan<int, THREADS>::TempStorage scan;
    int bins[WARPS][BINS];
    unsigned keys[TILE];
    uint16_t places[TILE];
};

// Where each of the thread's keys goes if all are ordered by one digit: item i of a warp comes before item i + 1, and
// lanes in their order. What is equal keeps its order.
__device__ void rank_by_digit(const unsigned (&key)[ITEMS], int (&to)[ITEMS], Shared &shared, int bit, int bits) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int *own = shared.bins[warp];
    if (lane < BINS) own[lane] = 0;
    __syncwarp();
    for (int i = 0; i < ITEMS; i++) {
        const unsigned digit = digit_of(key[i], bit, bits);
        const unsigned peers = __match_any_sync(ALL, digit);
        const int before = own[digit];
        __syncwarp();
        to[i] = before + __popc(peers & lanes_before());
        if ((peers & lanes_before()) == 0) own[digit] = before + __popc(peers);  // one lane for all that are alike
        __syncwarp();
    }
    __syncthreads();
    // Digit by digit, and within a digit warp by warp.
    int count = 0, *place = nullptr;
    if (threadIdx.x < BINS * WARPS) {
        place = &shared.bins[threadIdx.x % WARPS][threadIdx.x / WARPS];
        count = *place;
    }
    cub::BlockScan<int, THREADS>(shared.scan).ExclusiveSum(count, count);
    if (place) *place = count;
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) to[i] += own[digit_of(key[i], bit, bits)];
}

// in: rows x width, width at most 512; out, from: rows x keep, keep at most width.
__global__ void __launch_bounds__(THREADS) sort_rows(const float *in, float *out, int *from, int width, int keep,
                                                     int descending) {
    __shared__ Shared shared;
    __shared__ unsigned per_warp[WARPS];
    const int lane = threadIdx.x % 32, base = threadIdx.x / 32 * 32 * ITEMS + lane;
    const float *row = in + (size_t)blockIdx.x * width;
    unsigned key[ITEMS], differ = 0;
    int column[ITEMS], to[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        column[i] = base + i * 32;
        // What is beyond the row is last and stays so: no digit is above its own, and it stands behind its equals.
        key[i] = column[i] < width ? ordered(row[column[i]], descending) : ALL;
        if (column[i] < width) differ |= key[i] ^ ordered(row[0], descending);
    }
    // Digits in which all keys of the row agree are passed over.
    differ = __reduce_or_sync(ALL, differ);
    if (lane == 0) per_warp[threadIdx.x / 32] = differ;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) differ |= per_warp[w];

    for (int bit = 0; bit < 32; bit += BITS) {
        if (digit_of(differ, bit, BITS) == 0) continue;
        rank_by_digit(key, to, shared, bit, BITS);
        for (int i = 0; i < ITEMS; i++) {
            shared.keys[to[i]] = key[i];
            shared.places[to[i]] = column[i];
        }
        __syncthreads();
        for (int i = 0; i < ITEMS; i++) {
            key[i] = shared.keys[base + i * 32];
            column[i] = shared.places[base + i * 32];
        }
        __syncthreads();
    }
    for (int i = 0; i < ITEMS; i++) {
        const int at = base + i * 32;
        if (at < keep) {
            out[(size_t)blockIdx.x * keep + at] = restored(key[i], descending);
            from[(size_t)blockIdx.x * keep + at] = column[i];
        }
    }
}

void run(int rows, int width, int keep) {
    float *in, *out;
    int *from;
    cudaMalloc(&in, rows * width * sizeof(float));
    cudaMalloc(&out, rows * keep * sizeof(float));
    cudaMalloc(&from, rows * keep * sizeof(int));
    sort_rows<<<rows, THREADS>>>(in, out, from, width, keep, 1);
    cudaDeviceSynchronize();
}

int main() { run(6, 300, 100); }
