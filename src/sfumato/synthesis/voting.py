"""Private records vote for the candidates that are nearest to them.

Guarantee
    A unit adds at most k to a histogram, and at most 1 to each of its counts; what it adds depends
    on its own records and on public candidates, and on nothing else.

Why it holds
    A ballot lists different candidates: the nearest ones that the same unit has not voted for yet,
    in turns over its records where it has several. k votes for one candidate would move the
    histogram by k, not by √k. Each record is encoded by itself, and its cosines are computed in a
    product of its own: in a larger one the last digits depend on the other rows, and with them, at
    a tie, somebody else's vote.

Care
    A record without a vector (no known word) does not vote. Which records of an author vote is
    drawn without looking at them, once for all rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.text.document import Document

Counts = NDArray[np.int64]
Cell = tuple[int, int]
"""A place of the histogram: a label and a text."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Texts that can be voted for, their unit vectors, and the labels that each stands under."""

    texts: tuple[str, ...]
    vectors: Floats = field(repr=False)
    under: NDArray[np.bool_] = field(repr=False)

    @property
    def cells(self) -> int:
        """How many counts a histogram has."""
        return int(self.under.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Unit:
    """The records of one unit that vote: a row of vectors, and the place of each one's label."""

    vectors: Floats
    labels: tuple[int, ...]


def chosen_records(
    documents: Sequence[Document], *, unit: str, votes: int, randomness: Randomness
) -> list[list[int]]:
    """The places of the records of each unit that vote: one record, or some of an author's."""
    if unit == "record":
        return [[place] for place in range(len(documents))]
    by_author: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        if document.author is None:
            raise BadInput(
                f"{document.place or f'record {place + 1}'} has no author, and authors are the "
                "unit: name the field that holds them, `author_field=NAME`"
            )
        by_author.setdefault(document.author, []).append(place)
    return [
        [own[one] for one in randomness.choose(len(own), min(votes, len(own)))]
        for own in by_author.values()
    ]


def ballot(unit: Unit, candidates: Candidates, votes: int) -> list[Cell]:
    """The different places that a unit votes for, at most ``votes``."""
    ranked = [
        _nearest(vector, candidates, label, votes)
        for vector, label in zip(unit.vectors, unit.labels, strict=True)
    ]
    cast: dict[Cell, None] = {}
    turns = [iter(one) for one in ranked if one]
    while turns and len(cast) < votes:
        for turn in list(turns):
            cell = next((one for one in turn if one not in cast), None)
            if cell is None:
                turns.remove(turn)
            elif len(cast) < votes:
                cast[cell] = None
    return list(cast)


def tally(units: Iterable[Unit], candidates: Candidates, votes: int) -> Counts:
    """The histogram before noise: labels × texts. It must be written nowhere."""
    counts: Counts = np.zeros(candidates.under.shape, dtype=np.int64)
    for unit in units:
        for cell in ballot(unit, candidates, votes):
            counts[cell] += 1
    return counts


def add_noise(counts: Counts, candidates: Candidates, noise: float, draws: Randomness) -> Counts:
    """Every count that there is with whole-numbered Gaussian noise of its own.

    The low bits of a sum of floating-point numbers tell what was added; whole numbers have none.
    """
    drawn = np.rint(noise * draws.noise(counts.size)).astype(np.int64).reshape(counts.shape)
    return np.where(candidates.under, counts + drawn, 0)


def _nearest(vector: Floats, candidates: Candidates, label: int, votes: int) -> list[Cell]:
    """Candidates of a label by their cosine, the nearest first; of equal ones the first."""
    places = np.flatnonzero(candidates.under[label])
    if not vector.any() or not len(places):
        return []
    # A product of one row with the matrix: no other record has a part in it.
    scores = (candidates.vectors @ vector)[places]
    if votes == 1:
        return [(label, int(places[scores.argmax()]))]
    # Nobody needs more than all votes of the unit, whatever its other records have taken.
    order = np.argsort(-scores, kind="stable")[:votes]
    return [(label, int(places[one])) for one in order]
