"""What speaks for a candidate at a place: clues in the replacement, and clues around it.

Clues of the replacement compare it with the candidate: equal, first and last letter, length, words,
form, letters in common, and whether it stood for the candidate in a document that the attacker
knows. Clues of the context never look at the replacement: whether the candidate's words stand
elsewhere in the same document, how often its words and its form were met near the words around, and
how frequent and how long it is. How much each clue is worth is learned from known documents.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from sfumato.attacks.stretches.places import Place, fold
from sfumato.core.arrays import Floats

CONTEXT_CLUES = 6
# A pair of words that was never met counts this much.
UNSEEN = 0.5


def shape(text: str) -> str:
    """The form of a text: runs of digits, small letters and capitals.

    >>> shape("Ada 12-77"), shape("W68215985")
    ('Aa 0-0', 'A0')
    """
    digits = re.sub(r"\d+", "0", text)
    return re.sub(r"[^\W\d_A-Z]+", "a", re.sub(r"[A-Z]+", "A", digits))


@dataclass(frozen=True, eq=False, repr=False)
class Met:
    """What an attacker has counted in known documents."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    near: Counter[tuple[str, str]] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    sides: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, known: Iterable[Place], public: Iterable[Place] = ()) -> Met:
        """Count replacements with their originals, and words with the words around them.

        Of public places only the latter: nothing was replaced there.
        """
        met = cls()
        for place in known:
            met.pairs[place.replacement.casefold(), place.original.casefold()] += 1
            met.values[place.original.casefold()] += 1
            met._read(place)
        for place in public:
            met._read(place)
        return met

    def _read(self, place: Place) -> None:
        tokens = [*fold(place.original), shape(place.original)]
        self.words.update(tokens)
        self.sides.update(place.around)
        self.near.update((token, side) for token in tokens for side in place.around)

    @cached_property
    def total(self) -> int:
        """The number of words that were counted, once all are."""
        return self.words.total() or 1

    def nearness(self, tokens: Sequence[str], around: Sequence[str]) -> float:
        """The mean logarithm of how much oftener than by chance two words were met together."""
        total = self.total
        found = [
            math.log(
                (self.near[token, side] + UNSEEN)
                / (self.words[token] * self.sides[side] / total + UNSEEN)
            )
            for token in tokens
            for side in around
        ]
        return sum(found) / len(found) if found else 0.0


def context_clues(place: Place, candidate: str, met: Met) -> list[float]:
    """Clues that do not look at the replacement."""
    words = fold(candidate)
    stays = [word in place.elsewhere for word in words]
    return [
        sum(stays) / len(stays) if stays else 0.0,
        float(bool(stays) and all(stays)),
        met.nearness(words, place.around),
        met.nearness([shape(candidate)], place.around),
        # Not of the context either, but what is likelier without any clue.
        math.log1p(met.values[candidate.casefold()]),
        math.log1p(len(candidate)),
    ]


def replacement_clues(place: Place, candidate: str, met: Met) -> list[float]:
    """Clues in what stands there now."""
    new, old = place.replacement.casefold(), candidate.casefold()
    seen = met.pairs[new, old]
    return [
        float(new == old),
        float(new[:1] == old[:1]),
        float(new[-1:] == old[-1:]),
        float(len(new) == len(old)),
        -math.log1p(abs(len(new) - len(old))),
        float(len(new.split()) == len(old.split())),
        float(shape(place.replacement) == shape(candidate)),
        _letters_in_common(new, old),
        float(seen > 0),
        math.log1p(seen),
    ]


def clues_of(place: Place, candidates: Sequence[str], met: Met) -> Floats:
    """A row for each candidate, the clues of the context first."""
    return np.array(
        [
            [*context_clues(place, one, met), *replacement_clues(place, one, met)]
            for one in candidates
        ]
    )


def _letters_in_common(first: str, second: str) -> float:
    """Dice's coefficient of pairs of letters."""
    one, other = Counter(pairwise(first)), Counter(pairwise(second))
    whole = one.total() + other.total()
    return 2 * (one & other).total() / whole if whole else 0.0
