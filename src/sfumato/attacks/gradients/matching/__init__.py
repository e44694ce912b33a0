"""Rebuild a text by moving made-up embeddings until their gradient is the one released."""
