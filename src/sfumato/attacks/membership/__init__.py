"""Membership inference: was this text among those that a model was trained on?

``attack`` is the attack; ``signals`` lists the scores it can give a text, each in a module of its
own idea. A signal is given ``evidence`` about all candidates and never learns which of them are
members, so it cannot cheat.
"""
