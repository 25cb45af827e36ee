#include <cuda_fp16.h>
#include "cutlass_extensions/moe_types.h"

template <typename T, int RESIDUAL_NUM>
__global__ void finalize_moe_routing_kernel(const T* expanded_permuted_rows, T* reduced_unpermuted_output, const T* skip_1,
                                            const T* bias, const float* scales, const int* expanded_source_row_to_expanded_dest_row,
                                            const int* expert_for_source_row, const int cols, const int k) {
    const int original_row = blockIdx.x;
    const int num_rows = gridDim.x;
    T* reduced_row_ptr = reduced_unpermuted_output + original_row * cols;
    for (int tid = threadIdx.x; tid < cols; tid += blockDim.x) {
        T thread_output = RESIDUAL_NUM == 0 ? T(0.f) : skip_1[original_row * cols + tid];
        for (int k_idx = 0; k_idx < k; ++k_idx) {
            const int expanded_permuted_row = expanded_source_row_to_expanded_dest_row[original_row + k_idx * num_rows];
            const int64_t k_offset = original_row * k + k_idx;
            const int expert_idx = expert_for_source_row[k_offset];
            thread_output = thread_output + T(scales[k_offset]) *
                (expanded_permuted_rows[expanded_permuted_row * cols + tid] + bias[expert_idx * cols + tid]);
        }
        reduced_row_ptr[tid] = thread_output;
    }
}
