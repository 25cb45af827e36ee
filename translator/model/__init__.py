"""The kernel model: typed CUDA C++ with every implicit conversion made explicit."""
