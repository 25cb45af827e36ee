#define SCAN_BLOCK 512
#define WARPS (SCAN_BLOCK / 32)
#line 11 "block_scan.cu"
__device__ int warp_inclusive_scan(int v, int lane)
{
    for (int d = 1; d < 32; d <<= 1) {
        int up = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d)
            v += up;
    }
    return v;
}

#line 21 "block_scan.cu"
__global__ void block_scan(const int *d_in, int *d_out, int *d_sums, int n)
{
    __shared__ int warp_totals[WARPS];

    const int gid = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const int wid = threadIdx.x >> 5;

    int v = 0;
    if (gid < n)
        v = d_in[gid];

    v = warp_inclusive_scan(v, lane);
    if (lane == 31)
        warp_totals[wid] = v;
    __syncthreads();

    // the first warp scans the totals of all warps
    if (wid == 0) {
        int t = lane < WARPS ? warp_totals[lane] : 0;
        t = warp_inclusive_scan(t, lane);
        if (lane < WARPS)
            warp_totals[lane] = t;
    }
    __syncthreads();

    if (wid > 0)
        v += warp_totals[wid - 1];

    if (gid < n)
        d_out[gid] = v;
    if (threadIdx.x == SCAN_BLOCK - 1)
        d_sums[blockIdx.x] = v;
}
