"""Attention on the CPU by a C++ kernel that is compiled for this machine at its first use."""
