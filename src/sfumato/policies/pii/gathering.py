"""What all recognizers found in some documents, and of that what counts.

The first and longest counts, then the kind that comes first. What lies inside something else is
left out; no character that was covered is uncovered by this.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.detector import TYPES
from sfumato.policies.pii.found import Found
from sfumato.text.span import Span, Spans


class Gathered:
    """What was found so far in documents that are known by their numbers."""

    def __init__(self, documents: int) -> None:
        self._documents = documents
        self._found: list[Found | Span] = []
        self._stretches: list[tuple[int, int, int]] = []  # document, rank, how many are found

    def add(self, number: int, rank: int, found: Iterable[Found | Span]) -> None:
        """Take what a recognizer of some rank found in a document."""
        before = len(self._found)
        self._found += found
        if len(self._found) > before:
            self._stretches.append((number, rank, len(self._found) - before))

    def places_of(self, rank: int) -> dict[int, list[tuple[int, int]]]:
        """Where things of one rank were found, by the number of the document."""
        places: dict[int, list[tuple[int, int]]] = {}
        last = 0
        for number, its_rank, count in self._stretches:
            first, last = last, last + count
            if its_rank == rank:
                found = self._found[first:last]
                places.setdefault(number, []).extend([(one.start, one.end) for one in found])
        return places

    def outermost(self) -> list[Spans]:
        """What counts in each document, in reading order."""
        if not self._found:
            return [Spans()] * self._documents
        stretches = np.array(self._stretches, dtype=np.int64)
        numbers, ranks = (np.repeat(column, stretches[:, 2]) for column in stretches.T[:2])
        found, size = self._found, len(self._found)
        starts = np.fromiter(map(attrgetter("start"), found), np.int64, size)
        ends = np.fromiter(map(attrgetter("end"), found), np.int64, size)
        # "555-0142" has the shape of a Japanese postcode; by that alone it is rather a telephone,
        # but rather a postcode than what the tagger, which comes last, takes it for.
        rules = map(attrgetter("rule"), found)
        shaped = np.fromiter(map("postcode".__eq__, rules), np.bool_, size)
        shaped |= ranks == len(TYPES)
        order = np.lexsort((ranks, shaped, -ends, starts, numbers))
        kept = order[_is_outermost(numbers[order], ends[order])]
        spans = [_as_span(found[place]) for place in kept.tolist()]
        limits = np.searchsorted(numbers[kept], np.arange(self._documents + 1)).tolist()
        return [Spans(tuple(spans[first:last])) for first, last in pairwise(limits)]


def _is_outermost(numbers: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which end after all that come before them in their document."""
    beyond = int(ends.max()) + 1
    floors = numbers * beyond
    reached = np.maximum.accumulate(np.append(0, (floors + ends)[:-1]))
    found: NDArray[np.bool_] = floors + ends > np.maximum(reached, floors)
    return found


def _as_span(found: Found | Span) -> Span:
    return found if isinstance(found, Span) else found.as_span()
