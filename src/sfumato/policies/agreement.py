"""How well found spans and gold spans agree: exactly, in overlap, and by characters.

Recall looks at the gold spans, precision at the found ones. A span agrees exactly when a span of
the other side begins and ends where it does, and overlaps when they share a character; the label
is not compared, since corpora name the same kinds differently. The figures by characters say how
much of the spans' text the other side covers. Characters of one span are not independent, so the
interval for them counts as many trials as there are spans.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor
from typing import Any

from sfumato.corpora.labeled import Labeled
from sfumato.statistics.intervals import wilson
from sfumato.text.span import Span, Spans

OVERALL = "overall"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Side:
    """Spans of one side: how many there are, and how many agree with the other side."""

    spans: int = 0
    exact: int = 0
    overlapping: int = 0
    characters: int = 0
    covered: int = 0

    def __add__(self, other: Side) -> Side:
        return Side(
            self.spans + other.spans,
            self.exact + other.exact,
            self.overlapping + other.overlapping,
            self.characters + other.characters,
            self.covered + other.covered,
        )

    def shares(self) -> dict[str, float | None]:
        """The three shares; nothing when there is no span."""
        if not self.spans:
            return dict.fromkeys(("exact", "overlapping", "characters"))
        return {
            "exact": self.exact / self.spans,
            "overlapping": self.overlapping / self.spans,
            "characters": self.covered / self.characters,
        }

    def intervals(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """Wilson's interval for each share."""
        return {
            name: self._interval((share or 0.0) * self.spans, confidence)
            for name, share in self.shares().items()
        }

    def _interval(self, agreeing: float, confidence: float) -> tuple[float, float]:
        # Characters may amount to a fraction of a span: each limit rounds to its own side.
        low, _ = wilson(floor(agreeing + _ROUNDING), self.spans, confidence)
        _, high = wilson(ceil(agreeing - _ROUNDING), self.spans, confidence)
        return low, high

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "spans": self.spans,
            **{
                name: {"share": share, "low": low, "high": high}
                for (name, share), (low, high) in zip(
                    self.shares().items(), self.intervals().values(), strict=True
                )
            },
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """Recall and precision of one group: of a type, a domain, a language, or of all."""

    group: str
    name: str
    recall: Side
    precision: Side

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "group": self.group,
            "name": self.name,
            "recall": self.recall.as_dict(),
            "precision": self.precision.as_dict(),
        }


class Agreements:
    """Counts that grow with every document."""

    def __init__(self) -> None:
        self._sides: dict[tuple[str, str], list[Side]] = defaultdict(lambda: [Side(), Side()])

    def add(self, labeled: Labeled, found: Spans) -> None:
        """Count one document."""
        kinds = {OVERALL: OVERALL, "domain": labeled.domain, "language": labeled.language}
        for side, (spans, others) in enumerate(((labeled.spans, found), (found, labeled.spans))):
            for span, counted in _compare(spans, others):
                for group, name in (*kinds.items(), ("type", span.label)):
                    if name is not None:
                        self._sides[group, name][side] += counted

    def rows(self) -> tuple[Agreement, ...]:
        """All of it first, then by type, domain and language."""
        order = (OVERALL, "type", "domain", "language")
        keys = sorted(self._sides, key=lambda key: (order.index(key[0]), key[1]))
        return tuple(Agreement(*key, *self._sides[key]) for key in keys)


def _compare(spans: Iterable[Span], others: Iterable[Span]) -> Iterator[tuple[Span, Side]]:
    """Each span with its counts."""
    cover = _Cover.of(others)
    places = {(other.start, other.end) for other in others}
    for span in spans:
        if len(span):
            covered = cover.before(span.end) - cover.before(span.start)
            exact = (span.start, span.end) in places
            yield span, Side(1, int(exact), int(covered > 0), len(span), covered)


@dataclass(frozen=True, slots=True)
class _Cover:
    """The characters that spans cover, as stretches apart from each other, with sums of lengths."""

    starts: list[int]
    ends: list[int]
    sums: list[int]

    @classmethod
    def of(cls, spans: Iterable[Span]) -> _Cover:
        starts: list[int] = []
        ends: list[int] = []
        for start, end in sorted((span.start, span.end) for span in spans):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        lengths = (end - start for start, end in zip(starts, ends, strict=True))
        return cls(starts, ends, list(accumulate(lengths, initial=0)))

    def before(self, place: int) -> int:
        """How many characters before a place are covered."""
        index = bisect_right(self.starts, place)
        if not index:
            return 0
        return self.sums[index - 1] + min(place, self.ends[index - 1]) - self.starts[index - 1]
