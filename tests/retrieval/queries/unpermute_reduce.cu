// Undo the permutation of tokens: y[token] = sum over its K experts of gate * expert output
__global__ void unpermute(float2* y, const float2* expert_out, const int* inv_perm, const float* gates, int num_tokens,
                          int K, int half_dim) {
    int c = blockIdx.y * blockDim.x + threadIdx.x;
    int tok = blockIdx.x;
    if (c >= half_dim) return;
    float2 total = {0.f, 0.f};
#pragma unroll 4
    for (int j = 0; j < K; ++j) {
        int src = inv_perm[j * num_tokens + tok];
        if (src != -1) {
            float g = gates[tok * K + j];
            float2 v = expert_out[(size_t)src * half_dim + c];
            total.x = fmaf(g, v.x, total.x);
            total.y = fmaf(g, v.y, total.y);
        }
    }
    y[(size_t)tok * half_dim + c] = total;
}
