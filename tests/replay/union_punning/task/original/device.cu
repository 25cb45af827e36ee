#line 4 "union_pun.cu"
union Bits {
    float f;
    unsigned u;
};

#line 9 "union_pun.cu"
__global__ void inverse_root(const Bits *in, float *root, unsigned *exponent, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Bits b = in[i];
    exponent[i] = (b.u >> 23) & 255u;
    Bits y;
    y.u = 0x5f3759dfu - (b.u >> 1);
    root[i] = y.f * (1.5f - 0.5f * b.f * y.f * y.f);
}
