// Colours of 5, 6 and 5 bits made grey in place; the struct has bit-fields.
#include <cuda_runtime.h>

struct Colour {
    unsigned blue : 5;
    unsigned green : 6;
    unsigned red : 5;
    unsigned rest : 16;
};

__global__ void to_grey(Colour *pixels, const unsigned short *weights, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Colour c = pixels[i];
    unsigned grey = (c.red * weights[0] + (c.green >> 1) * weights[1] + c.blue * weights[2]) / 256;
    c.red = grey;
    c.green = grey << 1;
    c.blue = grey;
    pixels[i] = c;
}

int main() {
    int n = 1200;
    Colour *pixels;
    unsigned short *weights;
    cudaMalloc(&pixels, n * sizeof(Colour));
    cudaMalloc(&weights, 3 * sizeof(unsigned short));
    to_grey<<<(n + 127) / 128, 128>>>(pixels, weights, n);
    cudaDeviceSynchronize();
}
