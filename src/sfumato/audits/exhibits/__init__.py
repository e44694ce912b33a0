"""Claims that are known to be false, each with the paper, the reason and the repair.

They are what a falsifier is measured by: it must refute every one of them, and none of the repairs.
"""
