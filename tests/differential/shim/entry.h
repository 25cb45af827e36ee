// Calls a kernel for each thread of each block, in order. Arguments are addresses of the parameters' values.
#pragma once
#include "cuda_runtime.h"

namespace differential {
template <class... P, size_t... I>
void call(void (*kernel)(P...), void *const *args, std::index_sequence<I...>)
{
    kernel(*static_cast<std::remove_reference_t<P> *>(args[I])...);
}

template <class... P>
void launch(void (*kernel)(P...), void *const *args, const unsigned *grid, const unsigned *block)
{
    gridDim = dim3(grid[0], grid[1], grid[2]);
    blockDim = dim3(block[0], block[1], block[2]);
    for (unsigned bz = 0; bz < grid[2]; bz++)
        for (unsigned by = 0; by < grid[1]; by++)
            for (unsigned bx = 0; bx < grid[0]; bx++)
                for (unsigned tz = 0; tz < block[2]; tz++)
                    for (unsigned ty = 0; ty < block[1]; ty++)
                        for (unsigned tx = 0; tx < block[0]; tx++) {
                            blockIdx = {bx, by, bz};
                            threadIdx = {tx, ty, tz};
                            call(kernel, args, std::index_sequence_for<P...>());
                        }
}
}  // namespace differential
