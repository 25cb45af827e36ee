// Records of packed bytes, a thread each: literals, runs and copies of what came before, by way of a state machine of
// labels. Input may be anything: what is malformed is told by a code, and nothing is read beyond its end.
#include <cstdint>
#include <cuda_runtime.h>

constexpr int PRESET = 64;  // bytes that a copy may reach back to before the first one
enum Fault { SHORT = 1, FULL = 2, FAR = 3 };

// A length of 0 to 14, or 15 and further bytes, each added, until one that is not 255. -1: the input ends before.
__device__ int length_at(const uint8_t *in, int size, int &at, int nibble) {
    int length = nibble;
    if (nibble == 15) {
        uint8_t more;
        do {
            if (at >= size) return -1;
            more = in[at++];
            length += more;
        } while (more == 255);
    }
    return length;
}

// packed: records x stride bytes, of which sizes[r] are the record's; out: records x room; what is not reached stays.
// Each token begins with a byte: how many literals follow (high half), and how long a copy comes then (low half, 3
// less), or for 0 what is done to the last literals. state: bytes written, or minus (4 * place + fault); check: of them.
__global__ void unpack_records(const uint8_t *__restrict__ packed, const int *__restrict__ sizes,
                               const uint8_t *__restrict__ preset, uint8_t *__restrict__ out,
                               int *__restrict__ state, uint32_t *__restrict__ check, int records, int stride,
                               int room) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= records) return;
    const uint8_t *in = packed + (size_t)r * stride;
    uint8_t *to = out + (size_t)r * room;
    const int size = sizes[r];
    int at = 0, made = 0, fault = 0, literals, copy, back;
    uint16_t low = 1, high = 0;
    int8_t last = 0;
    uint8_t token;

next:
    if (at >= size) goto done;
    token = in[at++];
    literals = length_at(in, size, at, token >> 4);
    if (literals < 0 || literals > size - at) {
        fault = SHORT;
        goto fail;
    }
    while (literals-- > 0) {
        if (made >= room) {
            fault = FULL;
            goto fail;
        }
        // Literals are differences: the byte before, halved towards zero, and the difference.
        last = (int8_t)(last / 2 + (int8_t)in[at++]);
        to[made++] = (uint8_t)last;
    }
    if ((token & 15) == 0) goto change;
    copy = length_at(in, size, at, token & 15);
    if (copy < 0 || at >= size) {
        fault = SHORT;
        goto fail;
    }
    copy += 3;
    back = (int8_t)in[at++];
    if (back <= 0) back = 1 - back;  // 1 to 129, what is not positive the longer way
    if (back > made + PRESET) {
        fault = FAR;
        goto fail;
    }
    for (; copy > 0; copy--) {
        if (made >= room) {
            fault = FULL;
            goto fail;
        }
        const int from = made - back;
        to[made] = from >= 0 ? to[from] : preset[PRESET + from];  // may be what this copy wrote just before
        made++;
    }
    last = (int8_t)to[made - 1];
    goto next;

change:
    // Four ways to end a run of literals, by what the last byte leaves; each does what those below it do as well.
    switch (last % 4) {
    case 3:
        if (made > 1 && to[made - 2] > 127) to[made - 2] ^= 0x55;
    case -1:
        if (made > 0) to[made - 1] = (uint8_t)(to[made - 1] << 1 | to[made - 1] >> 7);
    case 2:
    case -3:
        if (at < size && in[at] < 16) at++;
        break;
    case -2:
        last = (int8_t)~last;
        break;
    default:
        break;
    }
    goto next;

fail:
    state[r] = -(4 * at + fault);
    goto sum;
done:
    state[r] = made;
sum:
    for (int i = 0; i < made; i++) {
        low = (uint16_t)((low + to[i]) % 65521);
        high = (uint16_t)((high + low) % 65521);
    }
    check[r] = (uint32_t)high << 16 | low;
}

void run(int records, int stride, int room) {
    uint8_t *packed, *preset, *out;
    int *sizes, *state;
    uint32_t *check;
    cudaMalloc(&packed, records * stride);
    cudaMalloc(&sizes, records * sizeof(int));
    cudaMalloc(&preset, PRESET);
    cudaMalloc(&out, records * room);
    cudaMalloc(&state, records * sizeof(int));
    cudaMalloc(&check, records * sizeof(uint32_t));
    cudaMemset(out, 0, records * room);
    unpack_records<<<(records + 63) / 64, 64>>>(packed, sizes, preset, out, state, check, records, stride, room);
    cudaDeviceSynchronize();
}

int main() { run(200, 60, 100); }
