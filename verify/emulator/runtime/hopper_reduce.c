// The operations of bulk and asynchronous reductions on values in memory.
#include "hopper_copies.h"
#include "arith.h"

u32 reduce_bytes(ReduceType type) {
    static const u8 bytes[] = {4, 4, 8, 8, 2, 2, 4, 8, 4};
    return bytes[type];
}

static u64 integer(u64 x, u64 y, Reduce op, u32 is_signed, u32 bits) {
    s64 sx = (s64)(x << (64 - bits)) >> (64 - bits), sy = (s64)(y << (64 - bits)) >> (64 - bits);
    u32 less = is_signed ? sx < sy : x < y;
    switch (op) {
    case REDUCE_min: return less ? x : y;
    case REDUCE_max: return less ? y : x;
    case REDUCE_inc: return x >= y ? 0 : x + 1;
    case REDUCE_dec: return x == 0 || x > y ? y : x - 1;
    case REDUCE_and: return x & y;
    case REDUCE_or: return x | y;
    case REDUCE_xor: return x ^ y;
    default: return x + y;
    }
}

static u16 half(u16 x, u16 y, Reduce op) {
    return op == REDUCE_min ? f16_min(x, y) : op == REDUCE_max ? f16_max(x, y) : f16_add(x, y);
}
static u16 brain(u16 x, u16 y, Reduce op) {
    return op == REDUCE_min ? bf16_min(x, y) : op == REDUCE_max ? bf16_max(x, y) : bf16_add(x, y);
}

void reduce_into(u8 *memory, const u8 *value, Reduce op, ReduceType type) {
    u64 x = 0, y = 0, r = 0;
    u32 bytes = reduce_bytes(type);
    memcpy(&x, memory, bytes);
    memcpy(&y, value, bytes);
    switch (type) {
    case REDUCE_f16: r = half((u16)x, (u16)y, op); break;
    case REDUCE_bf16: r = brain((u16)x, (u16)y, op); break;
    case REDUCE_f32:  // as red.global.add.f32
    case REDUCE_f32_ftz: r = atom_add_f32_ftz((u32)x, (u32)y); break;
    case REDUCE_f64: r = bits_of_f64(f64_of(x) + f64_of(y)); break;
    default: r = integer(x, y, op, type == REDUCE_s32 || type == REDUCE_s64, bytes * 8);
    }
    memcpy(memory, &r, bytes);
}
