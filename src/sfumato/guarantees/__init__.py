"""What is proven about an output, in one sentence; and what was measured, kept apart from it."""
