"""What a component contributes to a report: charts, each with its data, under a heading.

An attack or a measure knows what its details mean and how they are drawn; a report knows how a page
looks. A chapter is the plain data between them: it has no markup, the page escapes every text in
it, and nothing is drawn before the page asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.charts.chart import Chart
from sfumato.charts.numbers import level_of

ListingCell = str | float | int | None


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Data as a table: the first cell of a row names it."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[ListingCell]]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart with its data; ``description`` is for readers who cannot see it.

    ``draw`` is called only if the drawing libraries are installed; it is None if there is nothing
    to draw.
    """

    title: str
    description: str
    listing: Listing
    draw: Callable[[], Chart] | None


@dataclass(frozen=True, kw_only=True)
class Folded:
    """A table that is hidden until its summary line is clicked."""

    summary: str
    listing: Listing


@dataclass(frozen=True, kw_only=True)
class Topic:
    """The heading of a chapter, and a paragraph that says what is seen.

    Chapters of one topic are one section of the page; topics of smaller ``order`` come first.
    """

    name: str
    title: str
    lead: str
    order: int = 100


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What one component has to show on a topic."""

    topic: Topic
    parts: Sequence[Drawing | Folded]


@dataclass(frozen=True, kw_only=True)
class Against:
    """Where in a study something was found: which method, at which level, with which seed."""

    method: str
    parameter: str | None = None
    level: float | None = None
    seed: int = 0

    @property
    def said(self) -> str:
        """The method with its level: what a legend or the first column of a table says.

        >>> Against(method="DP-SGD", parameter="epsilon", level=2.0).said
        'DP-SGD, ε = 2'
        """
        level = level_of(self.parameter, self.level)
        return f"{self.method}, {level}" if level else self.method
