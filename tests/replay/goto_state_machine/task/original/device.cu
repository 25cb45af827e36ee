#line 4 "goto_machine.cu"
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
