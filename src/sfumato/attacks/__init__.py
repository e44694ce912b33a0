"""Attacks on models and on privatized text: what still shows through."""
