// Object-like macros, constexpr, const globals and enumerators as constants.
#include <cuda_runtime.h>

#define BLOCK 64
#define SCALE (1.0f / 3)
#define SHIFTED 2 + 3 /* no parentheses: BLOCK * SHIFTED is not 320 */
#ifdef USE_OFFSET
#define OFFSET 100
#else
#define OFFSET 7
#endif

constexpr int kTaps = BLOCK / 16;
static const float kBias = 0.125f;
enum Mode : int { kFirst = 4, kSecond };

__global__ void macro_const(float *out, const float *x, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float acc = kBias;
    for (int k = 0; k < kTaps; ++k)
        acc += x[(i + k) % n] * SCALE;
    out[i] = acc + BLOCK * SHIFTED + OFFSET + kSecond;
}

void run(float *out, const float *x, int n) { macro_const<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(out, x, n); }
