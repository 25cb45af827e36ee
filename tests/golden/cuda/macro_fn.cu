// Function-like macros: one that evaluates its argument twice, one that is a statement, one that pastes.
#include <cuda_runtime.h>

#define MAX2(a, b) ((a) > (b) ? (a) : (b))
#define SWAP(T, a, b) do { T tmp_ = (a); (a) = (b); (b) = tmp_; } while (0)
#define AT(buf, r, c) (buf)[(r) * pitch + (c)]
#define FIELD(name) value_##name
#define KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

__global__ void macro_fn(int *out, const int *x, int n)
{
    const int pitch = 2;
    KERNEL_LOOP(i, n) {
        int FIELD(a) = x[i] & 255, FIELD(b) = 128;
        int k = 3;
        int m = MAX2(k++, 2);
        if (value_a > value_b)
            SWAP(int, value_a, value_b);
        int box[4] = {1, 2, 3, 4};
        AT(box, 1, 0) += value_a;
        out[i] = MAX2(value_a, m) + box[2] * 2 + k + value_b;
    }
}

void run(int *out, const int *x, int n) { macro_fn<<<(n + 127) / 128, 128>>>(out, x, n); }
