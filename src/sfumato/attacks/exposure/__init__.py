"""Exposure: how high a model ranks a planted secret among all possible ones."""
