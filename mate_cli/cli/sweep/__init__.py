"""Sweeps: which jobs have to run, where each runs, and what became of them."""
