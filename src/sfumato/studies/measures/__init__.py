"""Measures of a privatized text, a model or a mechanism, one in each file."""
