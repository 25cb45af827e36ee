#line 4 "bit_fields.cu"
struct Colour {
    unsigned blue : 5;
    unsigned green : 6;
    unsigned red : 5;
    unsigned rest : 16;
};

#line 11 "bit_fields.cu"
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
