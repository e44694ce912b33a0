"""Stretches: what was found, as whole pieces that do not overlap.

Spans may overlap, touch, and cut through words. A stretch is a maximal run of characters that
spans cover, each span widened to whole words first: never protect less. It takes its name from one
of its spans: the one that begins first, of those the longest, of those the label that comes first
in the alphabet. The rule is public and the same everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from sfumato.corpora.spans import Span, Spans
from sfumato.corpora.words import Words

NAMELESS = "ANY"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters ``start`` to ``end`` of a text, and the span that names them."""

    start: int
    end: int
    text: str = field(repr=False)
    cause: Span

    @property
    def label(self) -> str:
        """What it was found as."""
        return self.cause.label

    @property
    def kind(self) -> str:
        """The label without anything that a line, a table or a reader could trip over."""
        return re.sub(r"[^\w-]+", "_", self.label) or NAMELESS


def stretches(spans: Spans, words: Words) -> list[Stretch]:
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
    return [
        Stretch(start, min(end, len(words.text)), words.text[start:end], min(group, key=_rank))
        for (start, end), group in zip(places, groups, strict=True)
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
