// next token: position of the largest logit
__global__ void greedy(int* next, const float* logits, int vocab) {
    __shared__ float val[1024];
    __shared__ int pos[1024];
    const int t = threadIdx.x;
    const float* l = logits + (size_t)blockIdx.x * vocab;
    float best = -3.4e38f;
    int where = 0;
    for (int v = t; v < vocab; v += blockDim.x)
        if (l[v] > best) {
            best = l[v];
            where = v;
        }
    val[t] = best;
    pos[t] = where;
    __syncthreads();
    for (int s = blockDim.x >> 1; s > 0; s >>= 1) {
        if (t < s && (val[t + s] > val[t] || (val[t + s] == val[t] && pos[t + s] < pos[t]))) {
            val[t] = val[t + s];
            pos[t] = pos[t + s];
        }
        __syncthreads();
    }
    if (t == 0) next[blockIdx.x] = pos[0];
}
