"""Inferring the words of a privatized text from their replacements."""
