"""Configuration, embeddings, encoder and heads, with Hugging Face's names; weights in and out."""
