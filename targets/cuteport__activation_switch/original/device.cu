#line 6 "activation_switch.cu"
enum Activation {
    ACT_LINEAR = 0,
    ACT_RELU,
    ACT_LEAKY,
    ACT_SIGMOID,
    ACT_SILU,
    ACT_TANH,
    ACT_ELU,
};

#line 16 "activation_switch.cu"
__global__ void activation_switch(const float *in_ptr, float *out_ptr, int n, int act, float slope)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;

    float x = in_ptr[i];
    float scale = 1.0f;
    switch (act) {
    case ACT_RELU:
        slope = 0.0f;
        /* fall through: RELU is LEAKY with no slope */
    case ACT_LEAKY:
        x = x > 0.0f ? x : slope * x;
        break;
    case ACT_SILU:
        scale = x;
        /* fall through */
    case ACT_SIGMOID:
        x = scale / (1.0f + expf(-x));
        break;
    case ACT_TANH:
        x = tanhf(x);
        break;
    case ACT_ELU:
        if (x < 0.0f) {
            x = slope * expm1f(x);
            break;
        }
        break;
    case ACT_LINEAR:
    default:
        break;
    }
    out_ptr[i] = x;
}
