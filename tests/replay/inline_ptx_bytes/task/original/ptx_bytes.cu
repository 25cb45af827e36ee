// Bytes of two words mixed by two instructions of inline PTX in one block with its own registers.
#include <cstdio>
#include <cstdint>

__global__ void mix_bytes(const uint32_t *a, const uint32_t *b, uint32_t *mixed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t r;
    asm("{ .reg .b32 t;\n\t"
        "prmt.b32 t, %1, %2, 0x6240;\n\t"
        "lop3.b32 %0, t, %1, %2, 0x96; }"
        : "=r"(r) : "r"(a[i]), "r"(b[i]));
    mixed[i] = r;
}

int main() {
    const int n = 5000;
    uint32_t *a, *b, *mixed;
    cudaMalloc(&a, n * sizeof(uint32_t));
    cudaMalloc(&b, n * sizeof(uint32_t));
    cudaMalloc(&mixed, n * sizeof(uint32_t));
    mix_bytes<<<(n + 127) / 128, 128>>>(a, b, mixed, n);
    cudaDeviceSynchronize();
    return 0;
}
