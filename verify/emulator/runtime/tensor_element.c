// Values of the elements of matrices, and sums of products.
#include "tensor.h"
#include "arith.h"

u32 element_bits(Element e) {
    static const u8 bits[] = {16, 16, 32, 8, 8, 32, 64, 8, 8, 4, 4, 1, 32};
    return bits[e];
}

int is_integer(Element e) { return e >= ELEMENT_s8; }

double element_value(u32 bits, Element e) {
    switch (e) {
    case ELEMENT_f16: return f16_of((u16)bits);
    case ELEMENT_bf16: return bf16_of((u16)bits);
    case ELEMENT_tf32: return f32_of(bits & 0xffffe000u);  // the hardware does not read the last 13 bits
    case ELEMENT_e4m3: return f16_of(f16_from_e4m3((u8)bits));
    case ELEMENT_e5m2: return f16_of(f16_from_e5m2((u8)bits));
    case ELEMENT_f32: return f32_of(bits);
    case ELEMENT_s8: return (s8)bits;
    case ELEMENT_u8: return (u8)bits;
    case ELEMENT_s4: return (s8)(u8)(bits << 4) >> 4;
    case ELEMENT_u4: return bits & 15;
    case ELEMENT_b1: return bits & 1;
    default: return (s32)bits;
    }
}

u32 rounded_to(double x, Element e) {
    return e == ELEMENT_f16 ? f16_from_f32(f32_odd(x)) : f32_out((float)x);
}

u32 clamped_sum(s64 x, u32 saturate) { return saturate ? (u32)clamp_s32(x) : (u32)x; }

void add_products(u32 rows, u32 depth, const double *a, const Row8 *b, Row8 *sums) {
    for (u32 r = 0; r < rows; r++, a += depth) {
        Row8 sum = sums[r];
        for (u32 k = 0; k < depth; k++) sum += b[k] * a[k];
        sums[r] = sum;
    }
}
