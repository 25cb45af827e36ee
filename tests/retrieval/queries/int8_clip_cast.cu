#define CLIP8(v) ((v) > 127.f ? 127.f : ((v) < -128.f ? -128.f : (v)))

__global__ void toInt8Kernel(char4 *dst, const float4 *src, float quantScale, int numVec)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < numVec) {
        float4 in = src[tid];
        char4 q;
        q.x = (signed char)CLIP8(roundf(in.x * quantScale));
        q.y = (signed char)CLIP8(roundf(in.y * quantScale));
        q.z = (signed char)CLIP8(roundf(in.z * quantScale));
        q.w = (signed char)CLIP8(roundf(in.w * quantScale));
        dst[tid] = q;
    }
}
