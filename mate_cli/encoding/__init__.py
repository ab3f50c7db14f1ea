"""From examples to features: sentence expansion, linearisation, truncation, labels, the cache and batches."""
