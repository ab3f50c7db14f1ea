"""Official metrics, one file per benchmark, and baselines without training. Nothing here imports torch."""
