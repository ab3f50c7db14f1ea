"""The tables and figures of the paper: what each needs, what of it is there, and how the rest comes about."""
