"""Spans: what a policy found in a document, and by which rule. Stretches: spans joined together.

Spans may overlap, touch, and cut through words. A stretch is a maximal run of characters that spans
cover, after each span was widened to whole words, so that no part of a found word is left. Its
label is that of one of its spans: the one that begins first, of those the longest, of those the
label that comes first in the alphabet. The rule is public and the same everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.text.words import Words


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive); every span names its rule and the reason."""

    start: int
    end: int
    label: str
    rule: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise InvalidArgument(f"a span cannot run from {self.start} to {self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a character."""
        return self.start < other.end and other.start < self.end

    def as_dict(self) -> dict[str, Any]:
        """What ``scan --json`` prints."""
        return {"start": self.start, "end": self.end, "label": self.label, "rule": self.rule}


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in reading order; they may overlap."""

    items: tuple[Span, ...] = ()

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Spans:
        """Sort, and drop empty spans and repetitions."""
        return cls(tuple(sorted({span for span in spans if len(span)})))

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Span]:
        return iter(self.items)

    def __or__(self, other: Spans) -> Spans:
        return Spans.of((*self.items, *other.items))

    def select(self, words: Words) -> list[int]:
        """Indices of the words that a span touches.

        A span that cuts through a word selects the whole word.

        >>> words = Words.of("Order A12-77 now")
        >>> [words[i] for i in Spans.of([Span(7, 11, "code")]).select(words)]
        ['A12', '77']
        """
        chosen: list[int] = []
        following = 0  # the first word not yet chosen
        for span in self.items:
            index = max(following, bisect_left(words.ends, span.start + 1))
            while index < len(words) and words.starts[index] < span.end:
                chosen.append(index)
                index += 1
                following = index
        return chosen

    def disjoint(self) -> Spans:
        """For display: of spans that overlap the earliest stays, then the longest."""
        kept: list[Span] = []
        for span in sorted(self.items, key=lambda span: (span.start, -len(span))):
            if not kept or span.start >= kept[-1].end:
                kept.append(span)
        return Spans(tuple(kept))


NAMELESS = "ANY"
BEFORE = 24  # characters before a stretch that are handed on with it


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters ``start`` to ``end`` of a text, and the span that names them.

    ``language`` is that of the document (an ISO 639-1 code), where it is known. ``before`` is what
    stands right before it, a few characters at most and none of another stretch: texts that differ
    only inside stretches agree on it.
    """

    start: int
    end: int
    text: str = field(repr=False)
    cause: Span
    language: str = ""
    before: str = field(default="", repr=False)

    @property
    def cover(self) -> Span:
        """The whole of it as one span."""
        return Span(self.start, self.end, self.label)

    @property
    def label(self) -> str:
        """The label of the span that names it."""
        return self.cause.label

    @property
    def kind(self) -> str:
        """The label without characters that would break a line or a table."""
        return re.sub(r"[^\w-]+", "_", self.label) or NAMELESS


def stretches(spans: Spans, words: Words, language: str = "") -> list[Stretch]:
    """The stretches of a text in reading order.

    >>> words = Words.of("Ask Ada Lovelace of 12 Dorset Street.")
    >>> found = Spans.of([Span(4, 7, "NAME"), Span(4, 16, "PERSON"), Span(20, 22, "NUMBER")])
    >>> [(one.text, one.kind) for one in stretches(found, words)]
    [('Ada Lovelace', 'PERSON'), ('12', 'NUMBER')]
    """
    groups: list[list[Span]] = []
    places: list[tuple[int, int]] = []
    for span in spans:
        start, end = extent(span, words)
        if start >= len(words.text):
            break  # nothing to replace there, and spans come in order
        if places and start <= places[-1][1]:
            groups[-1].append(span)
            places[-1] = places[-1][0], max(places[-1][1], end)
        else:
            groups.append([span])
            places.append((start, end))
    ends = (0, *(end for _, end in places))
    return [
        Stretch(
            start,
            min(end, len(words.text)),
            words.text[start:end],
            min(group, key=_rank),
            language,
            words.text[max(ends[number], start - BEFORE) : start],
        )
        for number, ((start, end), group) in enumerate(zip(places, groups, strict=True))
    ]


def extent(span: Span, words: Words) -> tuple[int, int]:
    """Where a span begins and ends when it is widened to whole words."""
    first = bisect_left(words.ends, span.start + 1)
    last = bisect_left(words.starts, span.end) - 1
    if first > last:
        return span.start, span.end
    return min(span.start, words.starts[first]), max(span.end, words.ends[last])


def _rank(span: Span) -> tuple[int, int, str, str]:
    return span.start, -len(span), span.label, span.rule
