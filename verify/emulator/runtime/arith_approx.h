// Approximate operations: computed in double and rounded once, so within PTX's documented errors but not the
// hardware's bits. Special values are those PTX lists.
// With JITTER each result is moved by up to the documented error. The amount is a function of seed, operation and
// operands: an approximation differs from another's, but not from itself, in whatever order threads run.
#ifndef EMU_ARITH_APPROX_H
#define EMU_ARITH_APPROX_H
#include "arith_half.h"

#ifdef JITTER
u64 jitter_seed __attribute__((weak)) = 1;

// In [-1, 1].
static inline double jitter(u64 operation, u64 operands) {
    u64 h = (jitter_seed * 0x9e3779b97f4a7c15ull) ^ operands;
    for (int i = 0; i < 2; i++) {
        h = (h ^ h >> 32 ^ operation) * 0xd6e8feb86659fd93ull;
        h ^= h >> 29;
    }
    return (double)(s64)h * 0x1p-63;
}
#define APPROX(x, relative, absolute, operation, operands) \
    approx_moved(x, relative, absolute, jitter(operation, operands))
static inline double approx_moved(double x, double relative, double absolute, double by) {
    // Zero, infinity and NaN are results that PTX lists: they stay.
    return isfinite(x) && x != 0 ? x + (fabs(x) * relative + absolute) * by : x;
}
#else
#define APPROX(x, relative, absolute, operation, operands) (x)
#endif

// Errors in ulp are taken relative to the number: an ulp of f32 is at least 2^-24 of it.
static inline u32 f32_ex2_approx(u32 a) { return f32_out((float)APPROX(exp2((double)f32_of(a)), 0x1p-22, 0, 1, a)); }

static inline u32 f32_lg2_approx(u32 a) {
    double x = f32_of(a), y = log2(x);
    return f32_out((float)(x > 0.5 && x < 2.0 ? APPROX(y, 0, 0x1p-22, 2, a) : APPROX(y, 0x1p-22, 0, 2, a)));
}

static inline u32 f32_rcp_approx(u32 a) { return f32_out((float)APPROX(1.0 / (double)f32_of(a), 0x1p-24, 0, 3, a)); }
static inline u32 f32_sqrt_approx(u32 a) { return f32_out((float)APPROX(sqrt((double)f32_of(a)), 0x1p-23, 0, 4, a)); }
static inline u32 f32_rsqrt_approx(u32 a) {
    return f32_out((float)APPROX(1.0 / sqrt((double)f32_of(a)), 0x1p-23, 0, 5, a));
}
static inline u32 f32_sin_approx(u32 a) { return f32_out((float)APPROX(sin((double)f32_of(a)), 0, 0x1p-21, 6, a)); }
static inline u32 f32_cos_approx(u32 a) { return f32_out((float)APPROX(cos((double)f32_of(a)), 0, 0x1p-21, 7, a)); }
static inline u32 f32_tanh_approx(u32 a) { return f32_out((float)APPROX(tanh((double)f32_of(a)), 0x1p-11, 0, 8, a)); }

static inline u32 f32_div_full(u32 a, u32 b) {
    return f32_out((float)APPROX((double)f32_of(a) / (double)f32_of(b), 0x1p-23, 0, 9, (u64)a << 32 | b));
}

// a * (1 / b): beyond 2^126 the reciprocal is subnormal and counts as zero.
static inline u32 f32_div_approx(u32 a, u32 b) {
    u32 sign = (a ^ b) & 0x80000000u, size = b & 0x7fffffffu;
    if (size > 0x7e800000u && size < 0x7f800000u && !is_nan32(a))
        return (a & 0x7fffffffu) == 0x7f800000u ? F32_NAN : sign;
    return f32_div_full(a, b);
}

// f64: only the upper halves of operand and result take part. The result's is rounded to nearest.
INL u64 upper_half(u64 a) { return (a + 0x80000000ull) & ~0xffffffffull; }

static inline u64 f64_rcp_approx(u64 a) {
    if (is_nan64(a)) return F64_NAN;
    double x = 1.0 / f64_of(a >> 52 & 0x7ff ? a & ~0xffffffffull : a & 1ull << 63);
    u64 r = bits_of_f64(APPROX(x, 0x1p-23, 0, 10, a));
    return r >> 52 & 0x7ff ? upper_half(r) : r & 1ull << 63;
}
static inline u64 f64_rsqrt_approx_ftz(u64 a) {
    if (is_nan64(a)) return F64_NAN;
    double x = 1.0 / sqrt(f64_of(a >> 52 & 0x7ff ? a & ~0xffffffffull : a & 1ull << 63));
    return x == x ? upper_half(bits_of_f64(APPROX(x, 0x1p-23, 0, 11, a))) : F64_NAN;
}
static inline u64 f64_rsqrt_approx(u64 a) { return f64_out(APPROX(1.0 / sqrt(f64_of(a)), 0x1p-23, 0, 12, a)); }

static inline u16 f16_ex2_approx(u16 a) {
    return f16_from_f32(f32_odd(APPROX(exp2((double)f16_of(a)), 0x1p-11, 0, 13, a)));
}
static inline u16 bf16_ex2_approx(u16 a) {
    return bf16_from_f32(f32_odd(APPROX(exp2((double)bf16_of(a)), 0x1p-8, 0, 14, a)));
}
INL u16 ftz_bf16(u16 a) { return a & 0x7f80 ? a : a & 0x8000; }
static inline u16 bf16_ex2_approx_ftz(u16 a) { return ftz_bf16(bf16_ex2_approx(ftz_bf16(a))); }
static inline u16 f16_tanh_approx(u16 a) {
    return f16_from_f32(f32_odd(APPROX(tanh((double)f16_of(a)), 0, 0x1p-12, 15, a)));
}
static inline u16 bf16_tanh_approx(u16 a) {
    return bf16_from_f32(f32_odd(APPROX(tanh((double)bf16_of(a)), 0, 0x1p-9, 16, a)));
}

#endif
