"""Intervals, rankings, shares and monotone curves: statistics that know nothing of privacy."""
