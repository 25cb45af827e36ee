// small mixtures: every thread does a token's gating on its own
struct Choice { float p; int id; };

__global__ void gate_tokens(Choice* picks, const float* scores, int n, int E) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        Choice a = {-INFINITY, -1}, b = {-INFINITY, -1};
        float z = 0.f, m = -INFINITY;
        for (int e = 0; e < E; ++e) {
            const float s = scores[t * E + e];
            const float nm = fmaxf(m, s);
            z = z * expf(m - nm) + expf(s - nm);
            m = nm;
            if (s > a.p) { b = a; a.p = s; a.id = e; }
            else if (s > b.p) { b.p = s; b.id = e; }
        }
        a.p = expf(a.p - m) / z;
        b.p = expf(b.p - m) / z;
        const float norm = a.p + b.p;
        a.p /= norm;
        b.p /= norm;
        picks[2 * t] = a;
        picks[2 * t + 1] = b;
    }
}
