"""Corpora on disk: reading, chunks, and writing each format back as it was."""
