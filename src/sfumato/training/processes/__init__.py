"""Training on several processes: who they are, what they add up, and what they agree on."""
