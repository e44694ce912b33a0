"""A dishonest server plants weights that make gradients show the text."""
