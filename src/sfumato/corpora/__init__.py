"""Documents, their words, spans over them, and the files they live in."""
