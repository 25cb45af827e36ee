constexpr int BLOCK = 64;
#line 6 "ptx_stage.cu"
__global__ void reverse_blocks(const float *__restrict__ in, float *__restrict__ out) {
    __shared__ float held[BLOCK];
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&held[threadIdx.x]));
    const float *from = in + blockIdx.x * BLOCK + threadIdx.x;
    asm volatile("{ .reg .pred p;\n\t"
                 "setp.lt.u32 p, %2, 64;\n\t"
                 "@p cp.async.ca.shared.global [%0], [%1], 4; }\n"
                 ::"r"(to), "l"(from), "r"(threadIdx.x));
    asm volatile("cp.async.commit_group;\n");
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();
    out[blockIdx.x * BLOCK + threadIdx.x] = held[BLOCK - 1 - threadIdx.x];
}
