"""Private training: the plan, what is sampled, clipped and noised, and the loop."""
