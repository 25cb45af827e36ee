// A local struct with an array and a struct inside; copied whole, passed and returned by value.
#include <cuda_runtime.h>

struct Vec { float x, y; };
struct Body {
    Vec pos;
    float trail[3];
    int age;
};

__device__ Vec add(Vec a, Vec b)
{
    a.x += b.x;
    a.y += b.y;
    return a;
}

__device__ Body moved(Body b, Vec by)
{
    b.trail[b.age % 3] = b.pos.x;
    b.pos = add(b.pos, by);
    b.age++;
    return b;
}

__global__ void struct_local(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body a = {{x[i], 1.0f}, {0.0f}, 0};
    Vec step = {0.5f, -0.25f};
    Body before = a;
    for (int k = 0; k < 4; k++)
        a = moved(a, step);
    Body *p = &a;
    p->pos.y *= 2.0f;
    out[i] = a.pos.x + a.pos.y + a.trail[0] * 3.0f + a.trail[1] + a.trail[2] + a.age + before.pos.x + before.age;
}

void run(float *out, const float *x, int n) { struct_local<<<(n + 127) / 128, 128>>>(out, x, n); }
