/* One thread routes one token, the way the reference does it: sigmoid, bias, group mask, pick. */
#define N_EXPERTS 64
#define N_GROUP 4
#define PER_GROUP (N_EXPERTS / N_GROUP)

__global__ void route_noaux(const float* logit, const float* e_bias, int n_tok, int topk_group, int k, float* wt, int* sel)
{
    int tok = blockDim.x * blockIdx.x + threadIdx.x;
    float s[N_EXPERTS], gs[N_GROUP], sum = 0.f;
    if (tok >= n_tok) return;
    for (int e = 0; e < N_EXPERTS; e++) s[e] = 1.f / (1.f + expf(-logit[tok * N_EXPERTS + e])) + e_bias[e];
    for (int g = 0; g < N_GROUP; g++) {
        float m1 = -1e30f, m2 = -1e30f;
        for (int j = 0; j < PER_GROUP; j++) {
            float v = s[g * PER_GROUP + j];
            if (v > m1) { m2 = m1; m1 = v; }
            else if (v > m2) m2 = v;
        }
        gs[g] = m1 + m2;
    }
    for (int drop = 0; drop < N_GROUP - topk_group; drop++) {
        int worst = -1;
        for (int g = 0; g < N_GROUP; g++)
            if (gs[g] > -1e29f && (worst < 0 || gs[g] <= gs[worst])) worst = g;
        gs[worst] = -1e30f;
        for (int j = 0; j < PER_GROUP; j++) s[worst * PER_GROUP + j] = -1e30f;
    }
    for (int i = 0; i < k; i++) {
        int best = 0;
        for (int e = 1; e < N_EXPERTS; e++) if (s[e] > s[best]) best = e;
        sel[tok * k + i] = best;
        wt[tok * k + i] = s[best] - e_bias[best];
        sum += s[best] - e_bias[best];
        s[best] = -1e30f;
    }
    for (int i = 0; i < k; i++) wt[tok * k + i] /= sum;
}
