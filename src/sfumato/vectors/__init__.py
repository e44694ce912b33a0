"""Public word vectors: the space that mechanisms work in, and the search for the nearest word."""
