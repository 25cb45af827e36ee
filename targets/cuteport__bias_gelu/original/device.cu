#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;
typedef __nv_bfloat162 bf162;
#line 15 "bias_gelu.cu"
__device__ __forceinline__ float gelu(float x)
{
    const float kAlpha = 0.7978845608028654f;  // sqrt(2 / pi)
    const float kBeta = 0.044715f;
    float inner = kAlpha * (x + kBeta * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
}

#line 23 "bias_gelu.cu"
__global__ void bias_gelu(const bf16 *x, const bf16 *bias, bf16 *out, int rows, int cols)
{
    const int pairs = cols / 2;
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs) return;

    const bf162 *x2 = reinterpret_cast<const bf162 *>(x);
    bf162 *out2 = reinterpret_cast<bf162 *>(out);
    const float2 b = __bfloat1622float2(reinterpret_cast<const bf162 *>(bias)[p]);

    for (int r = blockIdx.y; r < rows; r += gridDim.y) {
        const long long at = (long long)r * pairs + p;
        float2 v = __bfloat1622float2(x2[at]);
        v.x = gelu(v.x + b.x);
        v.y = gelu(v.y + b.y);
        out2[at] = __floats2bfloat162_rn(v.x, v.y);
    }
}
