#ifdef __CUDACC_RTC__
typedef unsigned int uint32_t;
#else
#include <cstdint>
#include <sys/types.h>
#endif

#line 5 "ptx_bytes.cu"
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
