"""CUDA C++ text in, CuTe DSL text out. Imports on a machine with no GPU, torch or cutlass."""

__version__ = "0.1.0"
