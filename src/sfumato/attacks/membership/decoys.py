"""Secrets against decoys: are planted secrets more probable than made-up ones of the same format?

The canaries that were planted are the members; for each a decoy is drawn that differs from it in
the secret alone: digits in place of digits, letters in place of letters. The score is the *summed*
ln p of the sentence, since a mean over tokens would favour secrets that are split into few of them.

The Selective-DPSGD paper takes 500 of both and reports accuracy at the median; chance is 0.5.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling", section 5.1.1.
"""

from __future__ import annotations

import math
import string
from pathlib import Path

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.corpora.canary_manifest import read_manifest

_ALPHABETS = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
# Draws before a format is held to have no secret left that was not planted.
ATTEMPTS = 1000


def planted(path: Path) -> tuple[Canary, ...]:
    """The canaries of a manifest that stand in the corpus at least once."""
    found = [one.canary for one in read_manifest(path) if one.repetitions]
    if not found:
        raise BadInput(f"{path} names no canary that was planted")
    return tuple(dict.fromkeys(found))


def decoys(
    canaries: tuple[Canary, ...], randomness: Randomness, fewest: int = 0
) -> tuple[Canary, ...]:
    """As many canaries of the same formats, none of which was planted.

    So that a few secrets can be judged at all, each has several decoys if there would be fewer
    than ``fewest``.
    """
    taken = set(canaries)
    found = []
    for canary in canaries * max(1, math.ceil(fewest / len(canaries))):
        for _ in range(ATTEMPTS):
            drawn = Canary(canary.template, _like(canary.secret, randomness))
            if drawn not in taken:
                break
        else:
            raise BadInput(
                "the secrets have so few possible values that there are no others to compare with; "
                "plant longer ones: sfumato data canaries --digits 6"
            )
        taken.add(drawn)
        found.append(drawn)
    return tuple(found)


def _like(secret: str, randomness: Randomness) -> str:
    """Each letter and digit replaced by one of its kind, all equally likely."""
    drawn = randomness.uniform(len(secret)).tolist()
    return "".join(
        next((a[int(one * len(a))] for a in _ALPHABETS if character in a), character)
        for character, one in zip(secret, drawn, strict=True)
    )
