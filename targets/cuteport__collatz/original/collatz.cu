// Steps of the Collatz sequence from each start to 1, and the highest number on the way.

#include <cuda_runtime.h>
#include <stdio.h>

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

int main()
{
    const int n = 1 << 16;
    long long *start;
    int *steps;
    unsigned long long *peak;
    cudaMallocManaged(&start, n * sizeof(*start));
    cudaMallocManaged(&steps, n * sizeof(*steps));
    cudaMallocManaged(&peak, n * sizeof(*peak));
    for (int i = 0; i < n; i++)
        start[i] = i + 1;

    collatz<<<(n + 127) / 128, 128>>>(start, steps, peak, n, 1000);
    cudaDeviceSynchronize();

    printf("27: %d steps, peak %llu\n", steps[26], peak[26]);
    return !(steps[26] == 111 && peak[26] == 9232);
}
