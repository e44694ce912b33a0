"""Property inference: what a model tells of its training texts as a whole."""
