"""Exposure: how far up among all possible secrets a model ranks one that was planted."""
