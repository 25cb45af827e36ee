#include <ATen/cuda/CUDAContext.h>
#include <cuda_fp8.h>
#include <flashinfer/vec_dtypes.cuh>

__device__ __forceinline__ float GroupReduceMax(float val, const int tid) {
    unsigned mask = 0xffff;
    val = fmaxf(val, __shfl_xor_sync(mask, val, 8));
    val = fmaxf(val, __shfl_xor_sync(mask, val, 4));
    val = fmaxf(val, __shfl_xor_sync(mask, val, 2));
    val = fmaxf(val, __shfl_xor_sync(mask, val, 1));
    return val;
}

template <typename T, typename DST_DTYPE, bool IS_COLUMN_MAJOR>
__global__ void per_token_group_quant_8bit_kernel(const T* __restrict__ input, void* __restrict__ output_q,
                                                  float* __restrict__ output_s, const int group_size, const int num_groups,
                                                  const int groups_per_block, const float eps, const float min_8bit,
                                                  const float max_8bit, const int scale_num_rows, const int scale_stride) {
    const int threads_per_group = 16;
    const int64_t local_group_id = threadIdx.x / threads_per_group;
    const int lane_id = threadIdx.x % threads_per_group;
    const int64_t global_group_id = blockIdx.x * groups_per_block + local_group_id;
    const T* group_input = input + global_group_id * group_size;
    DST_DTYPE* group_output = static_cast<DST_DTYPE*>(output_q) + global_group_id * group_size;
    float local_absmax = eps;
    using vec_t = flashinfer::vec_t<T, 8>;
    for (int i = lane_id; i < group_size / 8; i += 16) {
        vec_t input_vec;
        input_vec.cast_load(group_input + i * 8);
        for (uint32_t j = 0; j < 8; ++j) local_absmax = fmaxf(local_absmax, fabsf(static_cast<float>(input_vec[j])));
    }
    local_absmax = GroupReduceMax(local_absmax, lane_id);
    const float y_s = local_absmax / max_8bit;
    float* scale_output = IS_COLUMN_MAJOR
        ? output_s + (global_group_id % scale_num_rows) * scale_stride + global_group_id / scale_num_rows
        : output_s + global_group_id;
    if (lane_id == 0) *scale_output = y_s;
    for (int i = lane_id; i < group_size / 8; i += 16) {
        vec_t input_vec;
        input_vec.cast_load(group_input + i * 8);
        for (uint32_t j = 0; j < 8; ++j)
            group_output[i * 8 + j] = DST_DTYPE(fminf(fmaxf(static_cast<float>(input_vec[j]) / y_s, min_8bit), max_8bit));
    }
}
