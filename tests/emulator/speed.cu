// The four kernels by which the emulator's speed is followed (speed.py): a stream, shuffles with exponentials, a tile in shared
// memory with barriers, atomics in shared memory.

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

static __device__ float across(float v, bool largest, float* parts) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int d = 16; d > 0; d /= 2) {
        float o = __shfl_xor_sync(0xffffffffu, v, d);
        v = largest ? fmaxf(v, o) : v + o;
    }
    __syncthreads();
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    v = parts[0];
    for (int w = 1; w < blockDim.x / 32; w++) v = largest ? fmaxf(v, parts[w]) : v + parts[w];
    return v;
}

// A block for each row.
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
    __shared__ float parts[32];
    const float* in = x + blockIdx.x * columns;
    float* out = y + blockIdx.x * columns;
    float most = __int_as_float(0xff800000), sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, in[c]);
    most = across(most, true, parts);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float e = expf(in[c] - most);
        out[c] = e;
        sum += e;
    }
    sum = across(sum, false, parts);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[c] /= sum;
}

// Square matrices; n is a multiple of 16, blocks are 16 by 16.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][16], right[16][16];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += left[threadIdx.y][j] * right[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// 256 bins, blocks of 256.
extern "C" __global__ void histogram(const int* x, int* bins, int n) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i] & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
