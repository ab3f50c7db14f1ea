"""Weights of the released model; see ``model/README.md``. The package holds no code."""
