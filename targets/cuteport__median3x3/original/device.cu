#line 6 "median3x3.cu"
__device__ __forceinline__ void order(float &a, float &b)
{
    const float lo = fminf(a, b);
    b = fmaxf(a, b);
    a = lo;
}

#line 13 "median3x3.cu"
__device__ __forceinline__ void order3(float &a, float &b, float &c)
{
    order(b, c);
    order(a, b);
    order(b, c);
}

#line 21 "median3x3.cu"
__device__ void load_window(const float *img, int x, int y, int w, int h, float *win)
{
    for (int dy = -1; dy <= 1; dy++) {
        const int yy = min(max(y + dy, 0), h - 1);
        for (int dx = -1; dx <= 1; dx++) {
            const int xx = min(max(x + dx, 0), w - 1);
            *win++ = img[yy * w + xx];
        }
    }
}

#line 32 "median3x3.cu"
__global__ void median3x3(const float *img, float *out, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;

    float v[9];
    load_window(img, x, y, w, h, v);

    // sort the three rows, then: the largest minimum, the median of the medians, the least maximum
    order3(v[0], v[1], v[2]);
    order3(v[3], v[4], v[5]);
    order3(v[6], v[7], v[8]);
    float lo = fmaxf(fmaxf(v[0], v[3]), v[6]);
    float hi = fminf(fminf(v[2], v[5]), v[8]);
    order3(v[1], v[4], v[7]);
    float mid = v[4];
    order3(lo, mid, hi);
    out[y * w + x] = mid;
}
