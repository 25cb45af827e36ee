// Arrays of structs in global memory: ->, [i].member, whole-struct load and store.
#include <cuda_runtime.h>

struct Particle {
    float x, v;
    int id;
    unsigned char alive;
};

__global__ void struct_ptr(Particle *p, const Particle *q, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle *me = p + i;
    me->x += me->v * dt;
    if (me->x > q[i].x) {
        int id = me->id;
        *me = q[i];
        me->id = id;
    }
    p[i].alive ^= 1;
}

void run(Particle *p, const Particle *q, int n) { struct_ptr<<<(n + 127) / 128, 128>>>(p, q, 0.5f, n); }
