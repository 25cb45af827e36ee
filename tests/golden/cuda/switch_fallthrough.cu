// switch with fall-through, a default in the middle, and one that is the switch's only exit by return.
#include <cuda_runtime.h>

__device__ int weight(unsigned k)
{
    switch (k) {
    case 0: return 5;
    case 1:
    case 2: return 7;
    default: return 9;
    }
}

__global__ void switch_fallthrough(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int r = 0;
    switch (x[i] & 7) {
    case 0:
        r += 1;
    case 1:
        r += 10;
        break;
    default:
        r += 100;
    case 2:
        r += 1000;
        if (x[i] & 8)
            break;
        r += 2000;
    case 3: {
        int t = r;
        r = t * 3;
        break;
    }
    case 4:
        for (int k = 0; k < 4; k++) {
            if (k == 2)
                break;  // the loop's, not the switch's
            r += k + 1;
        }
        r += 50000;
    }
    out[i] = r + weight((unsigned)x[i] % 5u);
}

void run(int *out, const int *x, int n) { switch_fallthrough<<<(n + 127) / 128, 128>>>(out, x, n); }
