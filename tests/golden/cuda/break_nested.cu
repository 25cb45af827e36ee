// break leaves the inner loop only; a flag carries it to the outer one.
#include <cuda_runtime.h>

__global__ void break_nested(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int target = x[i] & 63;
    int steps = 0;
    bool found = false;
    for (int a = 0; a < 8; a++) {
        int b;
        for (b = 0; b < 8; b++) {
            steps++;
            if (a * 8 + b == target) {
                found = true;
                break;
            }
            if (b > a)
                break;
        }
        steps += 1000 * b;
        if (found)
            break;
    }
    out[i] = found ? steps : -steps;
}

void run(int *out, const int *x, int n) { break_nested<<<(n + 127) / 128, 128>>>(out, x, n); }
