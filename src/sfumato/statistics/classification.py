"""How well a classifier tells classes apart: accuracy, Matthews correlation and F1, with intervals.

``matthews`` is the correlation between the classes that are true and those that are said, 0 for
any guess that does not look at the text, 1 if all are right; with several classes it is Gorodkin's
R_K. ``f1`` of a class is the harmonic mean of precision and recall, 2·right/(said + true); ``f1,
macro`` is its mean over classes that occur at all, as true or as said.

All of them are functions of three counts for each class: how often it is true, said, and both.
Accuracy is a share, and its interval counts with a document that was not seen (``bounded``); those
of the others resample documents. Where authors are known, the documents of an author are one: they
are right and wrong together, and as independent ones they would promise too much.

Care
    Where all resamples give the same number (every label is right, or the same class is always
    said) there is no interval but for accuracy: the documents at hand do not show how much others
    could differ. Two or three documents, or authors, say little: intervals of correlation and F1
    resample what was seen, and can be too short there, or where few authors are unlike the rest.

Reference
    Matthews 1975; Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation
    coefficient".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import DIFFERENCE, SHARE, Measured, Range
from sfumato.statistics.shares import clustered_share, figure_of_sums, resample_sums

ACCURACY, MATTHEWS, F1 = "accuracy", "matthews", "f1"
MACRO = f"{F1}, macro"


@dataclass(frozen=True)
class Classified:
    """One document: the number of its true class and of the one that was said, and its author."""

    truth: int
    said: int
    author: str | None = None


def measure_classes(
    documents: Sequence[Classified], classes: Sequence[str], randomness: Randomness
) -> list[Measured]:
    """Accuracy, Matthews correlation, the mean F1 and that of every class that occurs.

    >>> found = measure_classes(
    ...     [Classified(0, 0), Classified(1, 1), Classified(1, 0)], "ab", Randomness.reproducible(1)
    ... )
    >>> [f"{one.metric}: {one.value:.2g}" for one in found]
    ['accuracy: 0.67', 'matthews: 0.5', 'f1, macro: 0.67', 'f1, a: 0.67', 'f1, b: 0.67']
    """
    if not documents:
        raise BadInput("there is no labeled document to measure a classifier on")
    owners = owners_of(documents)
    sums = _counts(documents, owners, len(classes))
    resampled = resample_sums(sums, randomness)
    occur = sums.sum(axis=0).reshape(3, -1)[1:].sum(axis=0) > 0

    def take(metric: str, figure: Callable[[Floats], Floats], within: Range = SHARE) -> Measured:
        found = figure_of_sums(
            metric, sums, resampled, lambda some: figure(some.reshape(len(some), 3, -1)), within
        )
        if found.low == found.high:
            found = replace(found, low=None, high=None)
        return replace(found, n=len(documents))

    return [
        clustered_share(ACCURACY, np.array([one.truth == one.said for one in documents]), owners),
        take(MATTHEWS, _matthews, DIFFERENCE),
        take(MACRO, _macro),
        *(
            take(f"{F1}, {name}", partial(_f1_of, place))
            for place, name in enumerate(classes)
            if occur[place]
        ),
    ]


def owners_of(documents: Sequence[Classified]) -> NDArray[np.int64]:
    """The number of each document's author; a document without one is by itself."""
    numbers: dict[Hashable, int] = {}
    return np.array(
        [
            numbers.setdefault(place if one.author is None else one.author, len(numbers))
            for place, one in enumerate(documents)
        ],
        dtype=np.int64,
    )


def _counts(documents: Sequence[Classified], owners: NDArray[np.int64], classes: int) -> Floats:
    """For each author: how often every class was right, true and said."""
    truth = np.array([one.truth for one in documents])
    said = np.array([one.said for one in documents])
    counts = np.zeros((int(owners.max()) + 1, 3, classes))
    right = truth == said
    for kind, (whose, which) in enumerate(
        ((owners[right], truth[right]), (owners, truth), (owners, said))
    ):
        np.add.at(counts[:, kind], (whose, which), 1.0)
    return counts.reshape(len(counts), -1)


def _matthews(counts: Floats) -> Floats:
    """The correlation; 0 if only one class is true, or only one is said."""
    right, true, said = counts[:, 0].sum(1), counts[:, 1], counts[:, 2]
    total = true.sum(1)
    above = right * total - (true * said).sum(1)
    below = np.sqrt((total**2 - (true**2).sum(1)) * (total**2 - (said**2).sum(1)))
    found: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return found


def _each_f1(counts: Floats) -> Floats:
    """F1 of every class; not a number where it does not occur."""
    right, both = counts[:, 0], counts[:, 1] + counts[:, 2]
    found: Floats = np.divide(2 * right, both, out=np.full_like(both, np.nan), where=both > 0)
    return found


def _f1_of(place: int, counts: Floats) -> Floats:
    """F1 of one class; 0 in a resample without it."""
    return np.nan_to_num(_each_f1(counts)[:, place])


def _macro(counts: Floats) -> Floats:
    found: Floats = np.nanmean(_each_f1(counts), axis=1)
    return found
