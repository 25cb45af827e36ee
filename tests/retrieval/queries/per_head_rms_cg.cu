#include <cooperative_groups.h>
#include <cuda_bf16.h>
namespace cg = cooperative_groups;

template <typename scalar, int HEAD_DIM>
__global__ void q_and_k_rms(scalar* query, scalar* key, const scalar* query_gamma, const scalar* key_gamma, float variance_eps,
                            int num_tokens, int num_heads, int num_kv_heads) {
    const cg::thread_block_tile<16> sub = cg::tiled_partition<16>(cg::this_thread_block());
    const int unit = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    if (unit >= num_tokens * (num_heads + num_kv_heads)) return;
    scalar* vec;
    const scalar* gamma;
    if (unit < num_tokens * num_heads) {
        vec = query + (size_t)unit * HEAD_DIM;
        gamma = query_gamma;
    } else {
        vec = key + (size_t)(unit - num_tokens * num_heads) * HEAD_DIM;
        gamma = key_gamma;
    }
    float reg[HEAD_DIM / 16], acc = 0.f;
    for (int j = 0; j < HEAD_DIM / 16; ++j) {
        reg[j] = float(vec[j * 16 + sub.thread_rank()]);
        acc += reg[j] * reg[j];
    }
    for (int m = 8; m >= 1; m >>= 1) acc += sub.shfl_xor(acc, m);
    const float inv_rms = rsqrtf(acc / HEAD_DIM + variance_eps);
    for (int j = 0; j < HEAD_DIM / 16; ++j)
        vec[j * 16 + sub.thread_rank()] = scalar(reg[j] * inv_rms * float(gamma[j * 16 + sub.thread_rank()]));
}
template __global__ void q_and_k_rms<__nv_bfloat16, 128>(__nv_bfloat16*, __nv_bfloat16*, const __nv_bfloat16*,
                                                         const __nv_bfloat16*, float, int, int, int);
