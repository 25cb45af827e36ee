// A tile of 16 x 8 by one tensor-core instruction: D = A B + C, A of 16 x 16 and B of 16 x 8 halves.
#include <cuda_fp16.h>

__global__ void tile_product(const half *a, const half *b, const float *c, float *d) {
    int lane = threadIdx.x, group = lane >> 2, pair = lane & 3;
    const unsigned *aw = reinterpret_cast<const unsigned *>(a + blockIdx.x * 256);
    const half *bw = b + blockIdx.x * 128;
    unsigned a0 = aw[group * 8 + pair], a1 = aw[(group + 8) * 8 + pair];
    unsigned a2 = aw[group * 8 + pair + 4], a3 = aw[(group + 8) * 8 + pair + 4];
    __half2 low = __halves2half2(bw[(pair * 2) * 8 + group], bw[(pair * 2 + 1) * 8 + group]);
    __half2 high = __halves2half2(bw[(pair * 2 + 8) * 8 + group], bw[(pair * 2 + 9) * 8 + group]);
    unsigned b0 = *reinterpret_cast<unsigned *>(&low), b1 = *reinterpret_cast<unsigned *>(&high);
    const float *cw = c + blockIdx.x * 128;
    float d0 = cw[group * 8 + pair * 2], d1 = cw[group * 8 + pair * 2 + 1];
    float d2 = cw[(group + 8) * 8 + pair * 2], d3 = cw[(group + 8) * 8 + pair * 2 + 1];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    float *dw = d + blockIdx.x * 128;
    dw[group * 8 + pair * 2] = d0;
    dw[group * 8 + pair * 2 + 1] = d1;
    dw[(group + 8) * 8 + pair * 2] = d2;
    dw[(group + 8) * 8 + pair * 2 + 1] = d3;
}

void products(const half *a, const half *b, const float *c, float *d, int tiles) {
    tile_product<<<tiles, 32>>>(a, b, c, d);
}

int main() {
    const int tiles = 12;
    half *a, *b;
    float *c, *d;
    cudaMalloc(&a, tiles * 256 * sizeof(half));
    cudaMalloc(&b, tiles * 128 * sizeof(half));
    cudaMalloc(&c, tiles * 128 * sizeof(float));
    cudaMalloc(&d, tiles * 128 * sizeof(float));
    products(a, b, c, d, tiles);
    return 0;
}
