#include <assert.h>

// inp: (B, T) token ids; wte: (V, C); wpe: (maxT, C); out: (B, T, C)
__global__ void encoder_forward_kernel(float4* out, const int* inp, const float4* wte, const float4* wpe, int B, int T, int C4) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int N = B * T * C4;
    if (idx < N) {
        int bt = idx / C4;
        int t = bt % T;
        int c = idx % C4;
        int ix = inp[bt];
        float4 tok = wte[ix * C4 + c];
        float4 pos = wpe[t * C4 + c];
        out[idx] = make_float4(tok.x + pos.x, tok.y + pos.y, tok.z + pos.z, tok.w + pos.w);
    }
}
