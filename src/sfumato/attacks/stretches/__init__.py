"""Attacks on what stands where something was found: they need no rows and no vocabulary."""
