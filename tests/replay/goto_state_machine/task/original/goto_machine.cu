// Counts words of each record: a state machine as its author drew it, with goto.
#include <cuda_runtime.h>

__global__ void count_words(const unsigned char *text, int *words, int records, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= records) return;
    const unsigned char *p = text + r * width;
    int at = 0, found = 0;
outside:
    if (at == width) goto done;
    if (p[at++] < 100) goto outside;
    found++;
inside:
    if (at == width) goto done;
    if (p[at++] >= 100) goto inside;
    goto outside;
done:
    words[r] = found;
}

int main() {
    int records = 200, width = 48;
    unsigned char *text;
    int *words;
    cudaMalloc(&text, records * width);
    cudaMalloc(&words, records * sizeof(int));
    count_words<<<(records + 63) / 64, 64>>>(text, words, records, width);
    cudaDeviceSynchronize();
}
