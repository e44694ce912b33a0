"""Measuring what a mechanism does."""
