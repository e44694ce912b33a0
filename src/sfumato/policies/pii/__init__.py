"""Recognizers of personal data, one file per kind, and the policy that unites them.

Each recognizer reads a text that was made plain first (``reading``): digits of every script, odd
spaces and hyphens become their ASCII forms, one character for one character, so that offsets
stay. All of them look at a bounded stretch around an anchor (a digit, an at sign, a cue word),
which keeps the time linear in the length of the text whatever the text is.
"""

from sfumato.policies.pii.detector import Pii

__all__ = ["Pii"]
