// All that a generated kernel includes: the runtime's calls, arithmetic, and what the emitter's handlers write.
#ifndef EMU_GENERATED_H
#define EMU_GENERATED_H
#include "core.h"
#include "arith.h"
#include "tensor.h"
#include "hopper.h"

// ---- address spaces
INL u8 is_shared(Thread *t, u64 a) { return a - (u64)t->shared < t->block->shared_bytes; }
INL u8 is_local(Thread *t, u64 a) { return t->local && a - (u64)t->local < (u64)(t->local_end - t->local); }
INL u8 is_global(Thread *t, u64 a) { return !is_shared(t, a) && !is_local(t, a); }
INL u8 is_param(Thread *t, u64 a) { return a - (u64)t->launch->params < t->block->kernel->param_bytes; }
INL u8 is_const(Thread *t, u64 a) {
    for (u32 i = 0; i < t->launch->n_allocations; i++)
        if (a - t->launch->allocations[i].base < t->launch->allocations[i].size)
            return t->launch->allocations[i].read_only != 0 && !is_param(t, a);
    return 0;
}

// ---- clusters
#define CLUSTER_SIZE(t) ((t)->launch->cluster[0] * (t)->launch->cluster[1] * (t)->launch->cluster[2])
INL u32 cluster_coord_(const Thread *t, u32 axis) { return t->block->ctaid[axis] % t->launch->cluster[axis]; }
#define CLUSTER_RANK(t) \
    (cluster_coord_(t, 0) + t->launch->cluster[0] * (cluster_coord_(t, 1) + t->launch->cluster[1] * cluster_coord_(t, 2)))

// ---- addition of floats in memory whose space only the address tells (PTX ISA, atom)
INL u32 atom_add_f32_at_(Thread *t, u64 address, u32 x, u32 y) {
    return is_shared(t, address) ? atom_add_f32(x, y) : atom_add_f32_ftz(x, y);
}
#endif
