// The exponent and fraction of floats, looked at through a union; a fast inverse root from the same bits.
#include <cuda_runtime.h>

union Bits {
    float f;
    unsigned u;
};

__global__ void inverse_root(const Bits *in, float *root, unsigned *exponent, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bits b = in[i];
    exponent[i] = (b.u >> 23) & 255u;
    Bits y;
    y.u = 0x5f3759dfu - (b.u >> 1);
    root[i] = y.f * (1.5f - 0.5f * b.f * y.f * y.f);
}

int main() {
    int n = 1500;
    Bits *in;
    float *root;
    unsigned *exponent;
    cudaMalloc(&in, n * sizeof(Bits));
    cudaMalloc(&root, n * sizeof(float));
    cudaMalloc(&exponent, n * sizeof(unsigned));
    inverse_root<<<(n + 255) / 256, 256>>>(in, root, exponent, n);
    cudaDeviceSynchronize();
}
