/* Batched look-up in an open-addressing hash table with linear probing.
 *
 * A query starts at its home slot (hashed on the host) and walks on until it meets its key, an
 * empty slot, or has looked at max_probe slots. The table's capacity is a power of two.
 *
 *   slot[i]   where the key was found, -1 if it is not in the table, -2 if the query is invalid
 *   probes[i] how many slots were looked at
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { EMPTY = 0, NOT_FOUND = -1, INVALID = -2 };

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

int main()
{
    const unsigned int capacity = 1 << 16;
    const int n = 100000;
    int *keys, *query, *slot, *probes;
    unsigned int *home;
    cudaMallocManaged(&keys, capacity * sizeof(int));
    cudaMallocManaged(&query, n * sizeof(int));
    cudaMallocManaged(&home, n * sizeof(unsigned int));
    cudaMallocManaged(&slot, n * sizeof(int));
    cudaMallocManaged(&probes, n * sizeof(int));
    for (unsigned int s = 0; s < capacity; s++)
        keys[s] = s % 4 == 3 ? EMPTY : rand() % 64 + 1;
    for (int i = 0; i < n; i++) {
        query[i] = rand() % 64 - 1;
        home[i] = (unsigned int)rand();
    }

    probe_find<<<(n + 127) / 128, 128>>>(keys, capacity - 1, query, home, n, 64, slot, probes);
    cudaDeviceSynchronize();

    int found = 0;
    for (int i = 0; i < n; i++) {
        if (slot[i] >= 0 && keys[slot[i]] != query[i])
            return 1;
        found += slot[i] >= 0;
    }
    printf("found %d of %d\n", found, n);
    return 0;
}
