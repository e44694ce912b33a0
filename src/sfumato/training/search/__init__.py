"""A search among settings that is charged as a whole: space, plan, scores, state, loop."""
