#line 13 "probe_find.cu"
enum { EMPTY = 0, NOT_FOUND = -1, INVALID = -2 };
#line 15 "probe_find.cu"
__global__ void probe_find(const int *keys, unsigned int mask, const int *query, const unsigned int *home,
                           int n, int max_probe, int *slot, int *probes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    int q = query[i];
    if (q <= EMPTY) {
        slot[i] = INVALID;
        probes[i] = 0;
        return;
    }

    unsigned int at = home[i] & mask;
    int result = NOT_FOUND;
    int looked = 0;
    while (looked < max_probe) {
        int k = keys[at];
        looked++;
        if (k == q) {
            result = (int)at;
            break;
        }
        if (k == EMPTY)
            break;
        at = (at + 1) & mask;
    }
    slot[i] = result;
    probes[i] = looked;
}
