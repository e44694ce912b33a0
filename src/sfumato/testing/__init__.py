"""Checks for whoever writes a component: does it do all that the rest of sfumato relies on?

Each check raises AssertionError with a sentence that says what is wrong; nothing else is needed,
pytest least of all. The checks are about form: shapes, refusals, noise that is new and comes from
where it should, spans inside the text, nothing private in names and reasons, copies that travel to
other processes, identities by which a stopped run is known again. Whether a mechanism's claim is
true is another question: ``sfumato verify file.py:Class --epsilon 5`` tries to refute it.

>>> from sfumato.policies.patterns import Digits
>>> check_policy(Digits(), ["Room 12"])
"""

from __future__ import annotations

from sfumato.testing.attacks import check_attack
from sfumato.testing.generators import check_generator
from sfumato.testing.holding import TEXTS as TEXTS
from sfumato.testing.measures import check_measure
from sfumato.testing.mechanisms import check_mechanism
from sfumato.testing.methods import check_method
from sfumato.testing.policies import check_policy

__all__ = [
    "check_attack",
    "check_generator",
    "check_measure",
    "check_mechanism",
    "check_method",
    "check_policy",
]
