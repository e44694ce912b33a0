"""Inferring the words of a privatized text from what stands in their places."""
