"""What a launch depends on besides its arguments: the device at hand. Host code.

A compiled kernel is kept by everything that it was specialised for: element type, extents, width, launch
plan, and the device's architecture. In memory that is `functools.cache` on a function of just those values;
two devices of one kind share an entry. Before several threads call, compile once: the DSL compiles one kernel
at a time.
Units: multiprocessors by count; 90 is compute capability 9.0.
Source of the technique: launch heuristics that ask for the multiprocessor count, as in CUDA's occupancy API.
"""

import torch

NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor
