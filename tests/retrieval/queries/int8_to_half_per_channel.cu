#include <cuda_fp16.h>

// weights back from int8, one scale for each output channel (row); four at a time
__global__ void unpack_weights(half2* w, const char4* codes, const half* channel_scale, int channels, int quads) {
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < channels && q < quads) {
        float s = __half2float(channel_scale[c]);
        char4 v = codes[c * quads + q];
        w[(c * quads + q) * 2] = __floats2half2_rn(v.x * s, v.y * s);
        w[(c * quads + q) * 2 + 1] = __floats2half2_rn(v.z * s, v.w * s);
    }
}
