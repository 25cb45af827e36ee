// All that a generated kernel includes: the runtime's calls, arithmetic, and what the emitter's handlers write.
#ifndef EMU_GENERATED_H
#define EMU_GENERATED_H
#include "core.h"
#include "arith.h"

// ---- address spaces
INL u8 is_shared(Thread *t, u64 a) { return a - (u64)t->shared < t->block->shared_bytes; }
INL u8 is_local(Thread *t, u64 a) { return t->local && a - (u64)t->local < (u64)(t->local_end - t->local); }
INL u8 is_global(Thread *t, u64 a) { return !is_shared(t, a) && !is_local(t, a); }
INL u8 is_const(Thread *t, u64 a) {
    for (u32 i = 0; i < t->launch->n_allocations; i++)
        if (a - t->launch->allocations[i].base < t->launch->allocations[i].size) return t->launch->allocations[i].read_only != 0;
    return 0;
}
INL u8 is_param(Thread *t, u64 a) { return a - (u64)t->launch->params < t->block->kernel->param_bytes; }

// ---- clusters
#define CLUSTER_SIZE(t) ((t)->launch->cluster[0] * (t)->launch->cluster[1] * (t)->launch->cluster[2])
INL u32 cluster_coord_(const Thread *t, u32 axis) { return t->block->ctaid[axis] % t->launch->cluster[axis]; }
#define CLUSTER_RANK(t) \
    (cluster_coord_(t, 0) + t->launch->cluster[0] * (cluster_coord_(t, 1) + t->launch->cluster[1] * cluster_coord_(t, 2)))

// ---- floating atomics. In global memory f32 addition flushes denormals (PTX ISA, atom); in shared memory it doesn't.
INL u32 atom_add_f32(u32 x, u32 y) { float a, b; memcpy(&a, &x, 4); memcpy(&b, &y, 4); a += b; memcpy(&x, &a, 4); return a != a ? 0x7fffffffu : x; }
INL u32 atom_flush_(u32 x) { return (x & 0x7f800000u) ? x : x & 0x80000000u; }
INL u32 atom_add_ftz_f32(u32 x, u32 y) { return atom_flush_(atom_add_f32(atom_flush_(x), atom_flush_(y))); }
INL u64 atom_add_f64(u64 x, u64 y) { double a, b; memcpy(&a, &x, 8); memcpy(&b, &y, 8); a += b; memcpy(&x, &a, 8); return a != a ? 0xfff8000000000000ull : x; }
#endif
