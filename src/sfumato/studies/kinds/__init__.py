"""What the cells of a study compute, one kind in each module."""
