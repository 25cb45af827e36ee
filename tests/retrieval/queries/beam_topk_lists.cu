// the K best of a row: a sorted list in each thread, merged by thread 0
#define K_MAX 8
#define THREADS 128

struct List {
    float v[K_MAX];
    int i[K_MAX];
    __device__ void init() { for (int j = 0; j < K_MAX; ++j) { v[j] = -1e38f; i[j] = -1; } }
    __device__ void insert(float x, int at) {
        if (x <= v[K_MAX - 1]) return;
        v[K_MAX - 1] = x;
        i[K_MAX - 1] = at;
        for (int j = K_MAX - 2; j >= 0; --j)
            if (v[j + 1] > v[j]) {
                float tv = v[j]; v[j] = v[j + 1]; v[j + 1] = tv;
                int ti = i[j]; i[j] = i[j + 1]; i[j + 1] = ti;
            }
    }
};

__global__ void beam_candidates(float* score, int* token, const float* log_probs, int vocab) {
    __shared__ float sv[THREADS * K_MAX];
    __shared__ int si[THREADS * K_MAX];
    List mine;
    mine.init();
    for (int c = threadIdx.x; c < vocab; c += THREADS) mine.insert(log_probs[blockIdx.x * vocab + c], c);
    for (int j = 0; j < K_MAX; ++j) { sv[threadIdx.x * K_MAX + j] = mine.v[j]; si[threadIdx.x * K_MAX + j] = mine.i[j]; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int j = K_MAX; j < THREADS * K_MAX; ++j) mine.insert(sv[j], si[j]);
        for (int j = 0; j < K_MAX; ++j) { score[blockIdx.x * K_MAX + j] = mine.v[j]; token[blockIdx.x * K_MAX + j] = mine.i[j]; }
    }
}
