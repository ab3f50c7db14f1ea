"""Speed, FLOPs and memory of encoders, side by side (paper figures 4 to 6, table 1)."""
