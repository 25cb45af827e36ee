// SIMD-in-a-word video instructions: four bytes or two halves at a time.
#ifndef EMU_ARITH_VIDEO_H
#define EMU_ARITH_VIDEO_H
#include "arith_bits.h"

enum { VIDEO_add, VIDEO_sub, VIDEO_avrg, VIDEO_absdiff, VIDEO_min, VIDEO_max };
enum { V_u32 = 0, V_s32 = 1, MODE_ = 0, MODE_sat = 1, MODE_add = 2 };

INL s32 video_lane(u32 a, int shift, int bits, int is_signed) {
    u32 lane = bits == 8 ? a >> shift & 0xff : a >> shift & 0xffff;
    return !is_signed ? (s32)lane : bits == 8 ? (s8)lane : (s16)lane;
}

// `mode` 0: lanes wrap; 1 (.sat): lanes clamp to the type of the result; 2 (.add): their sum is added to c.
static inline u32 video(int what, int bits, u32 a, u32 b, u32 c, int d_signed, int a_signed, int b_signed, int mode) {
    u32 result = 0, mask = (1u << bits) - 1;
    for (int shift = 0; shift < 32; shift += bits) {
        s32 x = video_lane(a, shift, bits, a_signed), y = video_lane(b, shift, bits, b_signed), r = 0;
        switch (what) {
        case VIDEO_add: r = x + y; break;
        case VIDEO_sub: r = x - y; break;
        case VIDEO_avrg: r = (x + y + (x + y >= 0)) >> 1; break;  // halves round away from zero
        case VIDEO_absdiff: r = x > y ? x - y : y - x; break;
        case VIDEO_min: r = x < y ? x : y; break;
        case VIDEO_max: r = x > y ? x : y; break;
        }
        if (mode == 2) {
            c += (u32)r;
            continue;
        }
        if (mode == 1) {
            s32 low = d_signed ? -(s32)(mask / 2) - 1 : 0, high = d_signed ? (s32)(mask / 2) : (s32)mask;
            r = r < low ? low : r > high ? high : r;
        }
        result |= ((u32)r & mask) << shift;
    }
    return mode == 2 ? c : result;
}

#endif
