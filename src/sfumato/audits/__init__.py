"""Trying to break what is claimed: what survives is not proven, what breaks is false."""
