#define TX 32
#define TY 8
#define IDX(x, y) ((y) * nx + (x))
#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : ((v) > (hi) ? (hi) : (v)))
#line 12 "heat_step.cu"
__global__ void heat_step(const float* __restrict__ u, float* __restrict__ u_new, int nx, int ny, float k)
{
    __shared__ float s[TY + 2][TX + 2];

    const int x = blockIdx.x * TX + threadIdx.x;
    const int y = blockIdx.y * TY + threadIdx.y;
    const int sx = threadIdx.x + 1;
    const int sy = threadIdx.y + 1;

    /* threads outside of the plate load the nearest cell inside, which is just what the border wants */
    const int cx = CLAMP(x, 0, nx - 1);
    const int cy = CLAMP(y, 0, ny - 1);

    s[sy][sx] = u[IDX(cx, cy)];
    if (threadIdx.x == 0)      s[sy][0]      = u[IDX(CLAMP(x - 1, 0, nx - 1), cy)];
    if (threadIdx.x == TX - 1) s[sy][TX + 1] = u[IDX(CLAMP(x + 1, 0, nx - 1), cy)];
    if (threadIdx.y == 0)      s[0][sx]      = u[IDX(cx, CLAMP(y - 1, 0, ny - 1))];
    if (threadIdx.y == TY - 1) s[TY + 1][sx] = u[IDX(cx, CLAMP(y + 1, 0, ny - 1))];
    __syncthreads();

    if (x >= nx || y >= ny)
        return;

    const float c = s[sy][sx];
    const float lap = s[sy][sx - 1] + s[sy][sx + 1] + s[sy - 1][sx] + s[sy + 1][sx] - 4.0f * c;
    u_new[IDX(x, y)] = c + k * lap;
}
