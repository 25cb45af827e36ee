// One symplectic Euler step for free particles in a soft box.
// The parameters travel as one struct by value.

#include <cuda_runtime.h>
#include <cstdio>

struct StepParams {
    float dt;
    float gravity;    // along -y
    float damping;    // velocity factor per step
    float half_box;   // the box is [-half_box, half_box]^3
    float stiffness;  // of the walls
    int count;
};

// force of a soft wall on one coordinate
static __device__ float wall(float c, float half_box, float stiffness)
{
    if (c > half_box)
        return -stiffness * (c - half_box);
    if (c < -half_box)
        return -stiffness * (c + half_box);
    return 0.0f;
}

// pos.w is the inverse mass, vel.w is unused and kept
__global__ void particle_step(float4 *pos, float4 *vel, StepParams p)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < p.count) {
        float4 x = pos[i];
        float4 v = vel[i];
        const float im = x.w;

        v.x += p.dt * im * wall(x.x, p.half_box, p.stiffness);
        v.y += p.dt * (im * wall(x.y, p.half_box, p.stiffness) - p.gravity);
        v.z += p.dt * im * wall(x.z, p.half_box, p.stiffness);

        v.x *= p.damping;
        v.y *= p.damping;
        v.z *= p.damping;

        x.x += v.x * p.dt;
        x.y += v.y * p.dt;
        x.z += v.z * p.dt;

        pos[i] = x;
        vel[i] = v;
    }
}

int main()
{
    StepParams p;
    p.dt = 0.01f;
    p.gravity = 9.81f;
    p.damping = 0.999f;
    p.half_box = 1.0f;
    p.stiffness = 50.0f;
    p.count = 1 << 16;

    float4 *pos, *vel;
    cudaMalloc(&pos, p.count * sizeof(float4));
    cudaMalloc(&vel, p.count * sizeof(float4));
    cudaMemset(pos, 0, p.count * sizeof(float4));
    cudaMemset(vel, 0, p.count * sizeof(float4));

    int threads = 256;
    int blocks = (p.count + threads - 1) / threads;
    for (int step = 0; step < 10; ++step)
        particle_step<<<blocks, threads>>>(pos, vel, p);

    float4 first;
    cudaMemcpy(&first, pos, sizeof(first), cudaMemcpyDeviceToHost);
    printf("y = %f\n", first.y);
    cudaFree(pos);
    cudaFree(vel);
    return !(first.y < 0.0f);
}
