#include <cuda_bf16.h>
#include <cuda_fp8.h>

#define BLK 128
// y = x * scale_inv[row / 128][col / 128]
extern "C" __global__ void weight_dequant(__nv_bfloat16* y, const __nv_fp8_storage_t* x, const float* scale_inv, int M, int N) {
    for (long n = blockIdx.x * (long)blockDim.x + threadIdx.x; n < (long)M * N; n += (long)gridDim.x * blockDim.x) {
        int i = n / N, j = n % N;
        float s = scale_inv[(i / BLK) * ((N + BLK - 1) / BLK) + j / BLK];
        __half_raw h = __nv_cvt_fp8_to_halfraw(x[n], __NV_E4M3);
        y[n] = __float2bfloat16(__half2float(__half(h)) * s);
    }
}
