"""Official metrics and the baselines beside them, one file per benchmark. Knows no torch."""
