// bfloat16: conversion, arithmetic with its rounding after each step, the packed type.
#include <cuda_bf16.h>

__global__ void bf16_math(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat162 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 v = x[i];
    float2 p = __bfloat1622float2(y[i]);
    __nv_bfloat16 s = __hadd(v, __float2bfloat16(p.x));
    s = __hmul(s, v);
    s = s + __float2bfloat16_rn(p.y);
    float f = __bfloat162float(s) + 0.001f;
    out[i] = __hlt(v, s) ? __float2bfloat16(f) : v;
}

void run(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat162 *y, int n)
{
    bf16_math<<<(n + 127) / 128, 128>>>(out, x, y, n);
}
