#define FLOAT4(value) (reinterpret_cast<float4 *>(&(value))[0])
#define CONST_FLOAT4(value) (reinterpret_cast<const float4 *>(&(value))[0])
#define HARDSWISH(v) ((v) * fminf(fmaxf((v) + 3.0f, 0.0f), 6.0f) * (1.0f / 6.0f))
#line 12 "hardswish_f4.cu"
__global__ void hardswish_f4(const float *x, float *y, int N)
{
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (idx + 3 < N) {
        float4 reg_x = CONST_FLOAT4(x[idx]);
        float4 reg_y;
        reg_y.x = HARDSWISH(reg_x.x);
        reg_y.y = HARDSWISH(reg_x.y);
        reg_y.z = HARDSWISH(reg_x.z);
        reg_y.w = HARDSWISH(reg_x.w);
        FLOAT4(y[idx]) = reg_y;
    } else {
        for (; idx < N; idx++)
            y[idx] = HARDSWISH(x[idx]);
    }
}
