// Copies of boxes that a tensor map describes. The 128 bytes of a map are not documented; what is read here was found from maps
// of the CuTe DSL's host code and of cuTensorMapEncodeTiled (driver 580), and agrees with an H200. A map with other values is
// refused (CP7110).
//   words 0-1   global address
//   word 2      1: of the DSL, no meaning found · 4-6: rank - 1 · 7-10: type · 11-12: interleave · 13-14: swizzle
//               15: fill with NaN · 16: tf32 · 17-18: L2 promotion · 21: of the DSL, no meaning found
//   words 3-6   strides of dimensions 1-4 / 16, low 32 bits; word 7: their bits 32-35, 4 for each
//   words 8-12  sizes of dimensions 0-4, less 1
//   word 13     24-31: box size of dimension 0, less 1; below, 3 bits for each dimension: stride of elements, less 1
//   word 14     8 bits for each of dimensions 1-4: box size, less 1      words 16-: the driver's own
// Found on an H200, where anything else is an illegal instruction: the first coordinate is a multiple of 16 bytes, and that of
// a store is not negative.
#include "hopper_copies.h"

enum { MOST_RANK = 5, MAP_BYTES = 128, MAP_WORDS = 16 };
enum { KNOWN_BITS = 1 << 21 | 3 << 17 | 3 << 13 | 15 << 7 | 7 << 4 | 1 << 1 };  // of word 2
typedef struct TensorMap {
    u64 address, size[MOST_RANK], stride[MOST_RANK];  // stride in bytes; of dimension 0, an element's
    u32 rank, box[MOST_RANK], element, span;          // span: bytes of a swizzled row; 16: none
    ReduceType type;
} TensorMap;

typedef struct ElementType { u8 code, bytes, reduce; } ElementType;
static const ElementType types[] = {
    {0, 1, 0xff},       {1, 2, 0xff},        {2, 4, REDUCE_u32}, {3, 4, REDUCE_s32}, {4, 8, REDUCE_u64},      {5, 8, REDUCE_s64},
    {6, 2, REDUCE_f16}, {7, 4, REDUCE_f32},  {8, 4, REDUCE_f32_ftz}, {9, 8, REDUCE_f64}, {10, 2, REDUCE_bf16},
};

static int in_parameters(const Thread *t, u64 addr) { return addr - (u64)t->launch->params < t->block->kernel->param_bytes; }

static void fetch(Thread *t, u64 map, u32 *w, u32 site) {
    if (map % 64) unsupported(t, site, "a tensor map that is not at a multiple of 64 bytes");
    if (!in_parameters(t, map))
        for (u32 i = 0; i < MAP_BYTES; i += PIECE)
            if (!access_global(t, map + i, PIECE, ACCESS_READ, site)) stop_launch(t, 8001);
    memcpy(w, (const void *)map, MAP_WORDS * sizeof *w);
}

static TensorMap decode(Thread *t, u64 map, u32 rank, u32 site) {
    u32 w[MAP_WORDS];
    TensorMap m = {0};
    fetch(t, map, w, site);
    if (w[2] & ~KNOWN_BITS || w[13] & 0xffffff || w[15])
        unsupported(t, site, "a tensor map with a fill, interleave or strides of elements that are not emulated, or none at all");
    m.rank = (w[2] >> 4 & 7) + 1;
    if (m.rank != rank) unsupported(t, site, "a tensor map of another rank than the copy's");
    u32 code = w[2] >> 7 & 15, swizzle = w[2] >> 13 & 3;
    if (code >= sizeof types / sizeof *types) unsupported(t, site, "a tensor map of an unknown type");
    m.address = w[0] | (u64)w[1] << 32;
    m.element = types[code].bytes;
    m.type = types[code].reduce;
    m.span = 16u << swizzle;
    for (u32 i = 0; i < rank; i++) {
        m.size[i] = (u64)w[8 + i] + 1;
        m.box[i] = i == 0 ? (w[13] >> 24) + 1 : (w[14] >> 8 * (i - 1) & 255) + 1;
        m.stride[i] = i == 0 ? m.element : (w[2 + i] | (u64)(w[7] >> 4 * (i - 1) & 15) << 32) * 16;
    }
    u32 row = m.box[0] * m.element;
    if (row % PIECE || (swizzle && row != m.span)) unsupported(t, site, "a box whose rows are not as wide as its swizzle");
    return m;
}

// Sixteen-byte pieces change places within 128 bytes (64, 32), by the number of the 128 bytes they lie in.
INL u32 swizzled(u32 offset, u32 span) { return offset ^ ((offset >> 7) & (span / 16 - 1)) << 4; }

static u32 box_bytes(const TensorMap *m) {
    u32 bytes = m->element;
    for (u32 i = 0; i < m->rank; i++) bytes *= m->box[i];
    return bytes;
}

// The pieces of the box at coordinates `at`; what lies outside of the tensor has no global bytes.
static BulkCopy *pieces_of(Thread *t, const TensorMap *m, const s32 *at, Place place, u32 site) {
    u32 row = m->box[0] * m->element, bytes = box_bytes(m), each = PIECE / m->element;
    BulkCopy *c = new_copy(t, bytes / PIECE, site);
    c->place = place;
    c->bytes = bytes;
    for (u32 offset = 0; offset < bytes; offset += row) {
        u64 from = m->address;
        u32 inside = 1, rest = offset / row;
        for (u32 i = 1; i < m->rank; i++) {
            s64 x = (s64)at[i] + rest % m->box[i];
            rest /= m->box[i];
            inside &= x >= 0 && x < (s64)m->size[i];
            from += (u64)x * m->stride[i];
        }
        for (u32 j = 0; j < row / PIECE; j++) {
            s64 first = (s64)at[0] + j * each, begin = first < 0 ? 0 : first, end = first + each;
            if (end > (s64)m->size[0]) end = m->size[0];
            u32 shared = swizzled(place.offset + offset + j * PIECE, m->span);
            Piece p = {0, shared, 0, 0};
            if (inside && begin < end)
                p = (Piece){from + (u64)begin * m->element, shared, (u8)((begin - first) * m->element), (u8)((end - begin) * m->element)};
            c->pieces[c->n++] = p;
        }
    }
    return c;
}

// What hardware refuses, it refuses for good.
static void check_coordinates(Thread *t, const TensorMap *m, const s32 *at, u32 storing, u32 site) {
    if (UNLIKELY((at[0] * (s64)m->element) % PIECE)) {
        finding(t, 8004, site, 0, 0, "the first coordinate of a tensor copy is no multiple of 16 bytes");
        stop_launch(t, 8004);
    }
    for (u32 i = 0; storing && i < m->rank; i++)
        if (UNLIKELY(at[i] < 0)) {
            finding(t, 8001, site, 0, 0, "a tensor store with a negative coordinate");
            stop_launch(t, 8001);
        }
}

void tensor_load(Thread *t, u32 to, u64 map, u32 rank, const s32 *at, u32 barrier, s32 multicast, u32 site) {
    Destination found[MOST_BLOCKS];
    TensorMap m = decode(t, map, rank, site);
    check_coordinates(t, &m, at, 0, site);
    u32 n = destinations(t, to, box_bytes(&m), 128, barrier, multicast, site, found);
    for (u32 i = 0; i < n; i++) {
        BulkCopy *c = pieces_of(t, &m, at, found[i].place, site);
        c->barrier = found[i].barrier;
        start_load(t, c);
    }
}

void tensor_store(Thread *t, u64 map, u32 rank, const s32 *at, u32 from, Reduce op, u32 site) {
    Place source;
    TensorMap m = decode(t, map, rank, site);
    check_coordinates(t, &m, at, 1, site);
    if (op && m.type == 0xff) unsupported(t, site, "a reduction of the tensor map's type");
    if (!find_place(t, from, box_bytes(&m), 128, site, &source)) return;
    BulkCopy *c = pieces_of(t, &m, at, source, site);
    c->reduce = op;
    c->type = m.type;
    start_store(t, c);
}

int is_mapped(const Thread *t, u64 addr, u32 bytes) {
#ifdef CHECK
    for (u32 i = 0; i < t->launch->n_allocations; i++) {
        const Allocation *a = &t->launch->allocations[i];
        if (addr - a->base < a->size) return addr - a->base + bytes <= a->size;
    }
    return 0;
#else
    return 1;
#endif
}
