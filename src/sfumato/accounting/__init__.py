"""What is promised: guarantees (proven, upper bounds) and how they add up."""
