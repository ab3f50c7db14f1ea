"""mate: train, compare and reuse transformers that read large tables."""

__version__ = "0.1.0"
