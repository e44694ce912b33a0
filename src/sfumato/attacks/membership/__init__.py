"""Membership inference: was this text among those that a model was trained on?

``attack`` is the attack; ``signals`` holds the scores that it can give a text. A signal is computed
from ``evidence`` about all candidates. It never learns which of them are members, so it cannot
cheat.
"""
