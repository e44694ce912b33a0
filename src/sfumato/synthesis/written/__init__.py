"""A corpus by a model that was trained privately: whatever it writes costs nothing more."""
