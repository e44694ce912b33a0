"""Mechanisms: random maps from words to words, each with its guarantee."""
