"""Documents, their words and the places in them."""
