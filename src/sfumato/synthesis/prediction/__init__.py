"""Private prediction: many prompts, one private record in each, agree on every token."""
