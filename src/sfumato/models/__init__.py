"""Models to train: from scratch, from a folder or a hub, whole or by low-rank factors."""
