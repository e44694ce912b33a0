"""Studies: a grid of methods, attacks and measures in one file, computed once and resumed."""
