// Inside the runtime: asynchronous work under way, and places in the shared memory of a cluster's blocks.
#ifndef EMU_HOPPER_ENGINE_H
#define EMU_HOPPER_ENGINE_H
#include "engine.h"
#include "hopper.h"

// Bits of Slot.shared_state beside STATE_INIT. Ordinary writes clear them, which is how writes at a wrong time are seen.
enum {
    STATE_ASYNC = 8,      // written by an asynchronous copy, so other copies and wgmma see it without a proxy fence
    STATE_READING = 16,   // a copy or wgmma reads it until it is waited for
    STATE_FILLING = 32,   // a copy will write it
    STATE_MBARRIER = 64,  // an mbarrier that was initialised
};
enum { PIECE = 16 };      // bytes in which bulk copies and wgmma touch shared memory

typedef struct Place { Slot *slot; u32 offset; } Place;  // in the shared memory of a block

// Of one thread, kept by slot and thread.
typedef struct ThreadAsync {
    u32 bulk_group;       // the group that the next copy belongs to
    u32 polls, seen;      // failed waits at mbarriers in a row, and what Hopper.activity was
    u32 cluster_arrived, cluster_phase;  // at the cluster's barrier, and its phase then
} ThreadAsync;

typedef struct WarpAsync {
    u32 group, fenced;    // wgmma: the group that the next one belongs to; whether there was a wgmma.fence
    u32 proxy_fenced;     // stamp below which the warp's writes are visible to asynchronous work
    struct Operands *operands;  // of wgmmas under way
} WarpAsync;

typedef struct Hopper {
    Runtime *rt;
    struct BulkCopy *copies;    // under way, oldest first
    struct LateArrival *late;   // cp.async.mbarrier.arrive
    ThreadAsync *threads;
    WarpAsync *warps;
    u16 **readers;              // [slot][piece]: how many asynchronous readers it has; NULL: none yet
    u64 *cluster_barriers;      // [slot] of a cluster's first block
    u32 activity;               // rises with every change of an mbarrier
} Hopper;

// hopper_shared.c
Hopper *hopper_of(Runtime *rt);
ThreadAsync *thread_async(const Thread *t);
WarpAsync *warp_async(const Thread *t);
Slot *cluster_slot(const Thread *t, u32 rank);   // NULL: there is no such block
// The place of a shared::cluster address; 0 after reporting that it is bad.
int find_place(Thread *t, u32 at, u32 bytes, u32 align, u32 site, Place *place);
// Checks and records an access as thread t's; bytes and offset are multiples of 16, or bytes is 1, 2, 4 or 8.
void touch_place(Thread *t, Place at, u32 bytes, u32 kind, u32 site);
void touch_atomically(Thread *t, Place at, u32 bytes, u32 site);  // … as an atomic
void start_reading(Thread *t, Place at, u32 bytes, u32 site);  // until stop_reading these must not be written
void stop_reading(Thread *t, Place at, u32 bytes, u32 site, const char *what);
void start_filling(Thread *t, Place at, u32 bytes, u32 site);
void stop_filling(Thread *t, Place at, u32 bytes, u32 site);
void need_proxy_fence(Thread *t, Place at, u32 bytes, u32 site);  // asynchronous work will read: who wrote must have fenced
void unsupported(Thread *t, u32 site, const char *what) __attribute__((noreturn));  // CP7110
INL u8 *host_of(Place p) { return p.slot->block.shared + p.offset; }

// hopper_mbarrier.c
int find_mbarrier(Thread *t, u32 at, u32 site, Place *p);  // 0 after a report
void free_late(Hopper *h);
void complete_bytes(Thread *t, Place barrier, u32 bytes, u32 site);

// hopper_wgmma.c
void wgmma_thread_exit(Thread *t);

// hopper_cluster.c
void cluster_thread_exit(Thread *t);

// hopper_bulk.c: does the copies that a barrier waits for, because thread t does
void finish_copies(Thread *t, Place barrier);
#endif
