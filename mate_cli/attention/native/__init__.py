"""Attention and dropout on the CPU by C++ kernels that are compiled for this machine at their first use."""
