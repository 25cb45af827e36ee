// What the hand-written kernels of these tests share. Sites are lines of the file, so that tests name them by their text.
#include "core.h"
#define KERNEL(NAME, ...) \
    static void K_##NAME(Thread *t, u8 *P); \
    const Kernel NAME EXPORT = {.abi = EMU_ABI, .name = #NAME, .entry = K_##NAME, .param_bytes = 64, .global_granule = 4, \
                                .shared_granule = 4, .sites = 1000, .counters = 4, __VA_ARGS__}; \
    static void K_##NAME(Thread *t, u8 *P)
#define ARG(i) (((const u64 *)P)[i])
#define HERE __LINE__
#define TID (t->tid[0])
#define BID (t->block->ctaid[0])
#define NTID (t->launch->block[0])
#define GLOBAL(i, k) (ARG(i) + 4ull * (k))  // address of 32-bit element k of buffer i
#define ALL 0xffffffffu
static float as_float(u32 bits) { float f; memcpy(&f, &bits, 4); return f; }
static u32 as_bits(float f) { u32 bits; memcpy(&bits, &f, 4); return bits; }
const Kernel emu_kernel = {EMU_ABI};
const u32 sizes[4] EXPORT = {sizeof(Kernel), sizeof(Launch), sizeof(Allocation), sizeof(Finding)};
