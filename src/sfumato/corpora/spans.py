"""Spans: stretches of a document that somebody found, and who found them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.corpora.words import Words


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

        A span that cuts through a word takes the whole word: never protect less.

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
