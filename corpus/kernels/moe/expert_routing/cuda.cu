// Routing of a mixture of experts by one block: counts, padded offsets and a row for each choice.
//
//   slots[t][k] = offsets[e] + choices of e = topk_ids[t][k] before (t, k); -1 unless first <= e < first + local
//
// Each of 16 threads counts a shard of the choices. Dynamic shared memory: 16 * experts ints.
constexpr int SHARDS = 16;

__global__ void expert_routing(int* __restrict__ counts, int* __restrict__ offsets, int* __restrict__ slots,
                               const int* __restrict__ topk_ids, int tokens, int top_k, int experts, int pad,
                               int first, int local) {
    extern __shared__ int seen[];
    const int choices = tokens * top_k, shard = (choices + SHARDS - 1) / SHARDS;
    const int begin = threadIdx.x * shard, end = min(begin + shard, choices);
    for (int i = threadIdx.x; i < SHARDS * experts; i += blockDim.x) seen[i] = 0;
    __syncthreads();
    if (threadIdx.x < SHARDS) {
        for (int i = begin; i < end; ++i) {
            const int e = topk_ids[i];
            if (e >= first && e < first + local) ++seen[threadIdx.x * experts + e];
        }
    }
    __syncthreads();
    for (int e = threadIdx.x; e < experts; e += blockDim.x) {
        int sum = 0;
        for (int s = 0; s < SHARDS; ++s) {
            const int n = seen[s * experts + e];
            seen[s * experts + e] = sum;
            sum += n;
        }
        counts[e] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        offsets[0] = 0;
        for (int e = 0; e < experts; ++e) offsets[e + 1] = offsets[e] + (counts[e] + pad - 1) / pad * pad;
    }
    __syncthreads();
    if (threadIdx.x < SHARDS) {
        for (int i = begin; i < end; ++i) {
            const int e = topk_ids[i];
            const bool here = e >= first && e < first + local;
            slots[i] = here ? offsets[e] + seen[threadIdx.x * experts + e]++ : -1;
        }
    }
}
