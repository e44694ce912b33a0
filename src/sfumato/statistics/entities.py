"""How well spans of several types are found: precision, recall and F1, with intervals.

A span counts as found if one with the same beginning, end and type is said: borders that are off by
a character are wrong on both sides. Precision is the share of what is said that is true, recall the
share of what is true that is said, and ``f1`` their harmonic mean, 2·right/(said + true); each over
all types together, and for every type that occurs. Where nothing is said, precision is 0 here, as
is usual.

Intervals resample documents; where authors are known, the documents of an author are one. Spans of
a text are found and missed together, so to resample spans would promise too much.

Care
    Where all resamples give the same number there is no interval: the documents at hand do not show
    how much others could differ. A few documents say little: what was not seen is not resampled.

Reference
    Tjong Kim Sang and De Meulder 2003, "Introduction to the CoNLL-2003 shared task".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import SHARE, Measured
from sfumato.statistics.shares import figure_of_sums, resample_sums

PRECISION, RECALL, F1 = "precision", "recall", "f1"
RIGHT, TRUE, SAID = range(3)

Entity = tuple[int, int, str]
"""Beginning, end and type."""


@dataclass(frozen=True)
class Tagged:
    """One document: its true spans and those that were said, and its author."""

    truth: frozenset[Entity] = field(repr=False)
    said: frozenset[Entity] = field(repr=False)
    author: str | None = None


def measure_entities(
    documents: Sequence[Tagged], types: Sequence[str], randomness: Randomness
) -> list[Measured]:
    """Precision, recall and F1 of all types together, and of every type that occurs.

    >>> ada, zoe = (0, 3, "PER"), (9, 12, "PER")
    >>> found = measure_entities(
    ...     [Tagged(frozenset({ada, zoe}), frozenset({ada, (9, 11, "PER"), (20, 22, "LOC")}))],
    ...     ["PER", "LOC"], Randomness.reproducible(1),
    ... )
    >>> [f"{one.metric}: {one.value:.2g}" for one in found[:3]]
    ['precision: 0.33', 'recall: 0.5', 'f1: 0.4']
    """
    if not documents:
        raise BadInput("there is no document to measure a tagger on")
    if not any(one.truth or one.said for one in documents):
        raise BadInput("no document has a labeled span, and none is found: nothing is measured")
    sums = _counts(documents, types)
    resampled = resample_sums(sums, randomness)
    occur = sums.sum(axis=0).reshape(3, -1)[TRUE:].sum(axis=0) > 0

    def take(metric: str, figure: Callable[[Floats], Floats]) -> Measured:
        found = figure_of_sums(
            metric, sums, resampled, lambda some: figure(some.reshape(len(some), 3, -1)), SHARE
        )
        if found.low == found.high:
            found = replace(found, low=None, high=None)
        return replace(found, n=len(documents))

    chosen = [("", slice(None))]
    chosen += [(f", {name}", slice(at, at + 1)) for at, name in enumerate(types) if occur[at]]
    return [
        take(f"{metric}{name}", partial(figure, which))
        for name, which in chosen
        for metric, figure in ((PRECISION, _precision), (RECALL, _recall), (F1, _f1))
    ]


def _counts(documents: Sequence[Tagged], types: Sequence[str]) -> Floats:
    """For each author: of every type, how many spans are right, true and said."""
    places = {name: place for place, name in enumerate(types)}
    owners: dict[Hashable, int] = {}
    rows: list[Floats] = []
    for number, one in enumerate(documents):
        owner = owners.setdefault(number if one.author is None else one.author, len(owners))
        if owner == len(rows):
            rows.append(np.zeros((3, len(types))))
        for kind, spans in ((RIGHT, one.truth & one.said), (TRUE, one.truth), (SAID, one.said)):
            for _, _, label in spans:
                rows[owner][kind, places[label]] += 1
    return np.stack(rows).reshape(len(rows), -1)


def _precision(which: slice, counts: Floats) -> Floats:
    return _share(counts, which, counts[:, SAID, which].sum(1))


def _recall(which: slice, counts: Floats) -> Floats:
    return _share(counts, which, counts[:, TRUE, which].sum(1))


def _f1(which: slice, counts: Floats) -> Floats:
    return _share(counts, which, counts[:, TRUE:, which].sum((1, 2)) / 2)


def _share(counts: Floats, which: slice, below: Floats) -> Floats:
    above = counts[:, RIGHT, which].sum(1)
    found: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return found
