"""Claims that are known to be false, each with the paper, the reason and the repair.

They test the falsifier: it must refute every one of them, and none of the repairs.
"""
