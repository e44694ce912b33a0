"""Surrogates: other names, numbers and addresses, drawn from public lists and ranges.

``form`` is all that a draw may know of an original, ``chance`` all that it draws from. The files of
one family of types each (``names``, ``contacts``, ``numbers``, ``addresses``, ``codes``) are given
nothing else, so that independence from the original can be read off their parameters.
"""
