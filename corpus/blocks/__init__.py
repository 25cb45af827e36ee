"""Building blocks, one a file. `cuteport corpus inline` copies them into the kernels that use them."""
