"""Attacks on what a step of training releases: which text a noisy gradient was computed from."""
