// Inside the runtime: bulk copies as lists of pieces.
#ifndef EMU_HOPPER_COPIES_H
#define EMU_HOPPER_COPIES_H
#include "hopper_engine.h"

// Sixteen bytes of shared memory, of which `bytes` from `skip` on lie in global memory (or another block's shared memory).
// A load makes the others zero, a store leaves them out.
typedef struct Piece { u64 global; u32 shared; u8 skip, bytes; } Piece;

typedef struct BulkCopy {
    struct BulkCopy *next;
    Thread *issuer;
    u32 site, group, bytes;  // bytes of shared memory; group of a store
    u8 is_store;
    Reduce reduce;           // of a store
    ReduceType type;
    Place place;             // the shared side
    Place from_shared;       // of a load from shared memory; Piece.global is an offset there
    Place barrier;           // of a load
    u8 *data;                // of a store whose source was read
    u32 n;
    Piece pieces[];
} BulkCopy;

BulkCopy *new_copy(Thread *t, u32 pieces, u32 site);
void free_copy(BulkCopy *c);
void start_load(Thread *t, BulkCopy *c);
void start_store(Thread *t, BulkCopy *c);

// hopper_reduce.c
u32 reduce_bytes(ReduceType type);
void reduce_into(u8 *memory, const u8 *value, Reduce op, ReduceType type);

// Whether host memory may be touched: always without CHECK, else only in an allocation (a bad address has been reported).
int is_mapped(const Thread *t, u64 addr, u32 bytes);
// The destinations of a load: `to` with its barrier, or the same offsets in each block of the mask. How many.
typedef struct Destination { Place place, barrier; } Destination;
enum { MOST_BLOCKS = 16 };  // of a cluster
u32 destinations(Thread *t, u32 to, u32 bytes, u32 align, u32 barrier, s32 multicast, u32 site, Destination *found);
#endif
