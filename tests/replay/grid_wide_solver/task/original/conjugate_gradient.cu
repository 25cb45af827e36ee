// Steps of conjugate gradients for the five-point Laplacian of a rectangle, all in one cooperative launch: the grid
// waits for itself between steps, dot products are added in double, in one order, by every block alike.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 128, WARPS = THREADS / 32;

// (A x) at one point: 4 + shift on the diagonal, -1 to each neighbour, zero outside.
__device__ __forceinline__ float apply(const float *x, int at, int width, int height, float shift) {
    const int col = at % width, row = at / width;
    float around = 0.0f;
    if (col > 0) around += x[at - 1];
    if (col < width - 1) around += x[at + 1];
    if (row > 0) around += x[at - width];
    if (row < height - 1) around += x[at + width];
    return fmaf(4.0f + shift, x[at], -around);
}

// Two sums over the grid, the same bits in every thread of it. `parts` has a pair a block, of one of two rounds in turn:
// a block that is ahead writes where nobody reads any more.
__device__ double2 sum_over_grid(const cg::grid_group &grid, double2 own, double2 *parts, double2 *shared) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    own.x = cg::reduce(warp, own.x, cg::plus<double>());
    own.y = cg::reduce(warp, own.y, cg::plus<double>());
    if (warp.thread_rank() == 0) shared[warp.meta_group_rank()] = own;
    block.sync();
    if (block.thread_rank() == 0) {
        double2 all = make_double2(0.0, 0.0);
        for (int w = 0; w < WARPS; w++) {
            all.x += shared[w].x;
            all.y += shared[w].y;
        }
        parts[blockIdx.x] = all;
    }
    grid.sync();
    double2 all = make_double2(0.0, 0.0);
    for (int b = warp.thread_rank(); b < gridDim.x; b += 32) {
        all.x += parts[b].x;
        all.y += parts[b].y;
    }
    all.x = cg::reduce(warp, all.x, cg::plus<double>());
    all.y = cg::reduce(warp, all.y, cg::plus<double>());
    return all;
}

// Solves (A + shift) x = b from x = 0, until the residual is `tolerance` times that of the start, or for `limit` steps.
// residual, direction, product: width x height floats each; parts: 2 rounds of a pair a block. done: steps taken.
// history: the norm of the residual before each step and after the last, limit + 1 floats, zeros where there was none.
__global__ void __launch_bounds__(THREADS) conjugate_gradient(const float *b, float *x, float *residual,
                                                              float *direction, float *product, double2 *parts,
                                                              float *history, int *done, int width, int height,
                                                              int limit, float shift, float tolerance) {
    __shared__ double2 shared[WARPS];
    cg::grid_group grid = cg::this_grid();
    const int points = width * height, first = grid.thread_rank(), stride = grid.num_threads();
    int round = 0;

    double2 own = make_double2(0.0, 0.0);
    for (int i = first; i < points; i += stride) {
        float r = b[i];
        x[i] = 0.0f;
        residual[i] = r;
        direction[i] = r;
        own.x += (double)r * r;
    }
    for (int i = first; i <= limit; i += stride) history[i] = 0.0f;
    double rr = sum_over_grid(grid, own, parts, shared).x;  // its barrier shows the direction to the neighbours
    const double enough = rr * tolerance * tolerance;

    int step = 0;
    while (step < limit && rr > enough) {
        if (first == 0) history[step] = (float)sqrt(rr);
        own = make_double2(0.0, 0.0);
        for (int i = first; i < points; i += stride) {
            float ap = apply(direction, i, width, height, shift), p = direction[i];
            product[i] = ap;
            own.x += (double)p * ap;
            own.y += (double)ap * ap;
        }
        round ^= 1;
        double2 found = sum_over_grid(grid, own, parts + round * gridDim.x, shared);
        const double alpha = rr / found.x;
        // What the new residual would be by the recurrence; where it has lost its digits, it is summed anew.
        double next = fma(alpha * alpha, found.y, -rr);
        own = make_double2(0.0, 0.0);
        for (int i = first; i < points; i += stride) {
            x[i] = fmaf((float)alpha, direction[i], x[i]);
            float r = fmaf(-(float)alpha, product[i], residual[i]);
            residual[i] = r;
            own.x += (double)r * r;
        }
        if (next <= 1e-4 * rr || step % 4 == 3) {  // the same in all threads of the grid
            round ^= 1;
            next = sum_over_grid(grid, own, parts + round * gridDim.x, shared).x;
        }
        const float beta = (float)(next / rr);
        for (int i = first; i < points; i += stride) direction[i] = fmaf(beta, direction[i], residual[i]);
        rr = next;
        step++;
        grid.sync();
    }
    if (first == 0) {
        history[step] = (float)sqrt(rr);
        *done = step;
    }
}

void run(int width, int height, int limit, int blocks) {
    int points = width * height;
    float shift = 0.5f, tolerance = 1e-4f, *b, *x, *residual, *direction, *product;
    double2 *parts;
    float *history;
    int *done;
    cudaMalloc(&b, points * sizeof(float));
    cudaMalloc(&x, points * sizeof(float));
    cudaMalloc(&residual, points * sizeof(float));
    cudaMalloc(&direction, points * sizeof(float));
    cudaMalloc(&product, points * sizeof(float));
    cudaMalloc(&parts, 2 * blocks * sizeof(double2));
    cudaMalloc(&history, (limit + 1) * sizeof(float));
    cudaMalloc(&done, sizeof(int));
    void *args[] = {&b,    &x,     &residual, &direction, &product, &parts,    &history,
                    &done, &width, &height,   &limit,     &shift,   &tolerance};
    cudaLaunchCooperativeKernel((void *)conjugate_gradient, dim3(blocks), dim3(THREADS), args, 0, 0);
    cudaDeviceSynchronize();
}

int main() { run(37, 29, 20, 3); }
