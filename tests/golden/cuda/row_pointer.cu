// Pointers to a row and to a column, used once in a loop: each stays one value.

__global__ void row_pointer(float *out, const float *x, const float *scale, int rows, int cols)
{
    int row = blockIdx.x;
    if (row >= rows)
        return;
    const float *in_row = x + (long)row * cols;
    float *out_row = out + (long)row * cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        out_row[c] = in_row[c] * scale[c];
    if (threadIdx.x < cols) {
        const float *column = x + threadIdx.x;
        float sum = 0.f;
        for (int r = 0; r < rows; r++)
            sum += column[r * cols];
        out_row[threadIdx.x] += sum; // a second use of `out_row`, with an index of its own
    }
}

void run(float *out, const float *x, const float *scale, int rows, int cols)
{
    row_pointer<<<rows, 32>>>(out, x, scale, rows, cols);
}
