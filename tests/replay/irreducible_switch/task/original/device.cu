#line 4 "irreducible.cu"
__global__ void sum_of_steps(const int *values, int *sums, int rows, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const int *p = values + r * width;
    int rounds = (width + 3) / 4, total = 0;
    switch (width % 4) {
    case 0:
        do {
            total += *p++;
            [[fallthrough]];
        case 3:
            total += 3 * *p++;
            [[fallthrough]];
        case 2:
            total -= *p++;
            [[fallthrough]];
        case 1:
            total += *p++;
        } while (--rounds > 0);
    }
    sums[r] = total;
}
