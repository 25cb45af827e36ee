#line 7 "particle_step.cu"
struct StepParams {
    float dt;
    float gravity;    // along -y
    float damping;    // velocity factor per step
    float half_box;   // the box is [-half_box, half_box]^3
    float stiffness;  // of the walls
    int count;
};

#line 17 "particle_step.cu"
static __device__ float wall(float c, float half_box, float stiffness)
{
    if (c > half_box)
        return -stiffness * (c - half_box);
    if (c < -half_box)
        return -stiffness * (c + half_box);
    return 0.0f;
}

#line 27 "particle_step.cu"
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
