// Compiler identification and CUDA's declaration specifiers.
#pragma once
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define CUDART_VERSION 12090
#define CUDA_VERSION 12090

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __CUDA_ALIGN__(n) __attribute__((aligned(n)))
#define CUTEPORT_HD __attribute__((host)) __attribute__((device))

#define __grid_constant__
#define __maxnreg__(n)
#define __cluster_dims__(...) __attribute__((annotate("__cluster_dims__(" #__VA_ARGS__ ")")))
#define __inline_hint__
#define __device_builtin__
#define __cudart_builtin__
#define CUDART_CB
#define CUDARTAPI
