"""Running work: here, or in other processes."""
