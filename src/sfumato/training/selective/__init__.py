"""Selective privacy in training: only what a policy finds is paid for."""
