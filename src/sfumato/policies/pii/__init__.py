"""Recognizers of personal data, one file per kind, and the policy that unites them.

Each recognizer reads a text that was made plain first (``reading``): digits of every script, odd
spaces and hyphens become their ASCII forms, one character for one character, so that offsets
stay. All of them look at a bounded stretch around an anchor (a digit, an at sign, a cue word),
which keeps the time linear in the length of the text whatever the text is.

Names are also found by a small trained network: ``tokens`` cuts texts for it, ``features`` says
what it sees of a word, ``network`` computes, ``tagger`` makes spans. Its weights are in
``weights``, with their sources and terms.
"""

from sfumato.policies.pii.detector import Pii

__all__ = ["Pii"]
