#line 6 "collatz.cu"
__global__ void collatz(const long long *start, int *steps, unsigned long long *peak, int n, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned long long x = (unsigned long long)start[i];
    unsigned long long top = x;
    int count = 0;
    do {
        if (x & 1ULL)
            x = 3 * x + 1;
        else
            x >>= 1;
        if (x > top)
            top = x;
    } while (++count < limit && x > 1);

    steps[i] = x == 1 ? count : -count;  // negative: gave up
    peak[i] = top;
}
