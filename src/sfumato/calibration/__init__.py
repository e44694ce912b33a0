"""Equal leakage: what one attack measures, put against each method's own parameter and inverted.

Epsilons of different notions cannot be compared, measured leakage can. Nothing in here is a
guarantee: another attack may find more.
"""
