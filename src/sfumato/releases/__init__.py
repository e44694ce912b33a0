"""Releasing text: the Privatizer for texts in memory, the job for files."""
