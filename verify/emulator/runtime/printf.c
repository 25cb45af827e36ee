// vprintf of a kernel: formats into the launch's output. The arguments lie at their natural alignment, as the ABI of CUDA
// has it: 4 bytes for int, 8 for long long, double and pointers.
#include "engine.h"
#include <stdio.h>

const char *text_at(Thread *t, u64 addr, u32 *length);

static void put(Launch *l, const char *text, u64 n) {
    u64 left = l->max_output - l->n_output;
    if (n > left) n = left;
    memcpy(l->output + l->n_output, text, n);
    l->n_output += n;
}

enum { WIDEST = 400 };  // of one field; a kernel that asks for more gets this and is told

// The number at *q, WIDEST at most: 1 where it was more.
static u32 field(const char **q, const char *end, u32 *n) {
    u32 cut = 0;
    for (*n = 0; *q < end && **q >= '0' && **q <= '9'; ++*q) {
        *n = *n * 10 + (**q - '0');
        if (*n > WIDEST) *n = WIDEST, cut = 1;
    }
    return cut;
}

u32 emu_printf(Thread *t, u64 format, u64 args, u32 site) {
    Launch *l = t->launch;
    u32 length, offset = 0, printed = 0;
    const char *p = text_at(t, format, &length), *end = p + length;
    while (p < end) {
        const char *percent = memchr(p, '%', end - p);
        if (!percent) percent = end;
        put(l, p, percent - p);
        if (percent == end) break;
        if (percent + 1 < end && percent[1] == '%') {
            put(l, "%", 1);
            p = percent + 2;
            continue;
        }
        char spec[40], text[2 * WIDEST];
        const char *q = percent + 1;
        u32 longs = 0, n = 0, number, cut = 0;
        spec[n++] = '%';
        for (; q < end && *q && strchr("-+ #0", *q); q++)
            if (n < 7) spec[n++] = *q;
        if (q < end && *q >= '0' && *q <= '9') {
            cut |= field(&q, end, &number);
            n += snprintf(spec + n, 12, "%u", number);
        }
        if (q < end && *q == '.') {
            q++;
            cut |= field(&q, end, &number);
            n += snprintf(spec + n, 12, ".%u", number);
        }
        for (; q < end && *q && strchr("hljzt", *q); q++) longs += *q == 'l' || *q == 'j' || *q == 'z' || *q == 't';
        if (q >= end || !*q) break;
        char kind = *q++;
        u32 is_real = strchr("fFeEgGaA", kind) != NULL, wide = is_real || kind == 's' || kind == 'p' || longs;
        if (!is_real && !strchr("diouxXcsp", kind)) {  // unknown: as it is, like the device does
            put(l, percent, q - percent);
            p = q;
            continue;
        }
        if (wide) offset = (offset + 7) & ~7u;
        u64 bits = 0;
        const u8 *from = access_generic(t, args + offset, wide ? 8 : 4, ACCESS_READ, site);
        if (from) memcpy(&bits, from, wide ? 8 : 4);
        offset += wide ? 8 : 4;
        if (is_real) {
            double real;
            memcpy(&real, &bits, 8);
            spec[n++] = kind, spec[n] = 0;
            snprintf(text, sizeof text, spec, real);
        } else if (kind == 's') {
            u32 size;
            char word[400];
            const char *source = text_at(t, bits, &size);
            if (size >= sizeof word) size = sizeof word - 1, cut = 1;
            memcpy(word, source, size);
            word[size] = 0;
            spec[n++] = 's', spec[n] = 0;
            snprintf(text, sizeof text, spec, word);
        } else if (kind == 'c') {
            spec[n++] = 'c', spec[n] = 0;
            snprintf(text, sizeof text, spec, (int)bits);
        } else if (kind == 'p') {
            snprintf(text, sizeof text, "%p", (void *)bits);
        } else {
            if (!wide) bits = kind == 'd' || kind == 'i' ? (u64)(s64)(s32)bits : (u64)(u32)bits;
            spec[n++] = 'l', spec[n++] = 'l', spec[n++] = kind, spec[n] = 0;
            snprintf(text, sizeof text, spec, bits);
        }
        put(l, text, strlen(text));
        if (cut || strlen(text) == sizeof text - 1) put(l, "[cut]", 5);
        printed++;
        p = q;
    }
    return printed;
}
