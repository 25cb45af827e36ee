"""The structs of runtime/core.h for ctypes; EMU_ABI there and ABI here are raised together."""

from __future__ import annotations

import ctypes as c

ABI = 4
SCHEDULES = {"forward": 0, "reverse": 1, "random": 2}
DONE, STOPPED, BAD_LAUNCH = 0, 1, 2
FIBERS, RESIDENT = 1, 2


class Kernel(c.Structure):
    _fields_ = (
        ("abi", c.c_uint32),
        ("flags", c.c_uint32),
        ("name", c.c_char_p),
        ("entry", c.c_void_p),
        ("param_bytes", c.c_uint32),
        ("static_shared", c.c_uint32),
        ("local_bytes", c.c_uint32),
        ("stack_bytes", c.c_uint32),
        ("stack_spare", c.c_uint32),
        ("global_granule", c.c_uint32),
        ("shared_granule", c.c_uint32),
        ("sites", c.c_uint32),
        ("counters", c.c_uint32),
        ("red_zones", c.c_uint32),
        ("red", c.c_void_p),
    )


class Function(c.Structure):
    _fields_ = (("at", c.c_uint64), ("takes", c.c_char_p))


class Allocation(c.Structure):
    _fields_ = (
        ("base", c.c_uint64),
        ("size", c.c_uint64),
        ("state", c.c_void_p),
        ("read_only", c.c_uint32),
        ("name", c.c_uint32),
        ("cells", c.c_void_p),
        ("shadow", c.c_uint64),
    )


class Finding(c.Structure):
    _fields_ = (
        ("code", c.c_uint32),
        ("site", c.c_uint32),
        ("other_site", c.c_uint32),
        ("block", c.c_uint32),
        ("thread", c.c_uint32),
        ("other_block", c.c_uint32),
        ("other_thread", c.c_uint32),
        ("size", c.c_uint32),
        ("addr", c.c_uint64),
        ("count", c.c_uint64),
        ("what", c.c_char * 128),
    )


class Launch(c.Structure):
    _fields_ = (
        ("abi", c.c_uint32),
        ("schedule", c.c_uint32),
        ("seed", c.c_uint64),
        ("grid", c.c_uint32 * 3),
        ("block", c.c_uint32 * 3),
        ("cluster", c.c_uint32 * 3),
        ("shared_bytes", c.c_uint32),
        ("resident", c.c_uint32),
        ("dynamic_shared", c.c_uint32),
        ("total_shared", c.c_uint32),
        ("params", c.c_void_p),
        ("symbols", c.c_void_p),
        ("allocations", c.c_void_p),
        ("n_allocations", c.c_uint32),
        ("stopped_by", c.c_uint32),
        ("budget", c.c_int64),
        ("findings", c.c_void_p),
        ("max_findings", c.c_uint32),
        ("n_findings", c.c_uint32),
        ("counts", c.c_void_p),
        ("output", c.c_void_p),
        ("max_output", c.c_uint64),
        ("n_output", c.c_uint64),
        ("clock", c.c_uint64),
        ("asked", c.c_uint64),
        ("wrote", c.c_uint32),
        ("wrote_block", c.c_uint32),
        ("wrote_thread", c.c_uint32),
        ("wrote_site", c.c_uint32),
        ("workspace", c.c_uint64),
        ("runtime", c.c_void_p),
    )
