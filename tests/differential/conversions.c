/* What LLVM calls for conversions that the CPU has no instruction for; libgcc has it from version 13 on.
   A bfloat16 is returned in the lowest bits of a floating-point register, which is where a float's are. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static float with_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint32_t nearest_even(uint32_t bits) { return (bits + 0x7fff + (bits >> 16 & 1)) >> 16; }

float __truncsfbf2(float f)
{
    uint32_t bits = bits_of(f);
    return with_bits(isnan(f) ? bits >> 16 | 0x40 : nearest_even(bits));
}

float __truncdfbf2(double d)
{
    float f = (float)d;
    uint32_t bits = bits_of(f);
    if (isnan(d))
        return with_bits(bits >> 16 | 0x40);
    if ((double)f != d) { /* rounded to odd, so that rounding again can't go wrong */
        bits -= fabs((double)f) > fabs(d);
        bits |= 1;
    }
    return with_bits(nearest_even(bits));
}
