"""File formats: reading documents and writing them back with nothing else changed."""
