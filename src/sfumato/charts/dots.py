"""Figures with their intervals, a line for each: dots and whiskers on one scale.

A dot says nothing by its length, so the scale need not begin at zero: it is logarithmic where
figures differ by a large factor, and has room for intervals that reach below zero. What a figure is
of stands beside it, because a legend would make people look to and fro. A figure without an
interval is drawn hollow, and an interval without a figure is a whisker alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.charts.bars import Line
from sfumato.charts.numbers import rounded
from sfumato.charts.overview import SHAPES
from sfumato.charts.scale import Scale
from sfumato.charts.shapes import LETTER, Mark, Picture, Shape, Sheet, Stroke, Writing, wrap

# The heights of a line with a name, of a line with a dot, and of what is left free between rows.
NAMED, DOTTED, FREE = 17.0, 18.0, 6.0


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A figure; ``said`` is how it is written, ``label`` tells it from others in its row."""

    said: str
    value: float | None
    low: float | None = None
    high: float | None = None
    label: str = ""
    series: int = 0

    @property
    def whisker(self) -> tuple[float, float] | None:
        """The ends of the interval, if it is known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """Figures about one thing."""

    name: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, kw_only=True)
class Dots:
    """What the chart shows; ``title`` says what is measured."""

    title: str
    rows: Sequence[DotRow]
    lines: Sequence[Line] = ()


def dots_picture(shown: Dots) -> Picture | None:
    """The chart for wide and narrow screens; None if there is nothing to show."""
    if not any(row.dots for row in shown.rows):
        return None
    return Picture(
        wide=_Plot(shown, width=920.0, size=14.0).sheet(),
        narrow=_Plot(shown, width=360.0, size=12.0).sheet(),
    )


class _Plot:
    """A sheet in the making."""

    def __init__(self, shown: Dots, *, width: float, size: float) -> None:
        self.shown, self.width, self.size = shown, width, size
        self.above = width < 500  # on a narrow screen a name stands above its dots
        every = [dot for row in shown.rows for dot in row.dots]
        letter = LETTER * size
        self.said = max(len(dot.said) for dot in every) * letter + 6
        labels = max(len(dot.label) for dot in every) * letter
        longest = max(len(row.name) for row in shown.rows) * letter
        self.left = 4.0 if self.above else min(max(longest + 16, 120.0), width * 0.4)
        self.right = max(width - self.said - labels - 12, self.left + width * 0.25)
        values = [line.value for line in shown.lines]
        values += [
            end for dot in every for end in (dot.value, dot.low, dot.high) if end is not None
        ]
        self.scale = Scale.over(values, (self.left, self.right), may_be_log=True)

    def sheet(self) -> Sheet:
        title = self.shown.title + (" (logarithmic)" if self.scale.logarithmic else "")
        # A number stays in a line with its sign.
        lines = wrap(
            title.replace(" %", "\N{NO-BREAK SPACE}%"), int(self.width / LETTER / self.size)
        )
        shapes: list[Shape] = [
            Writing(
                x=0, y=(place + 1) * 1.3 * self.size, text=line, kind="title", size=self.size
            )
            for place, line in enumerate(lines)
        ]  # fmt: skip
        y = len(lines) * 1.3 * self.size + 8
        if self.shown.lines:
            y += self.size
            shapes += self._line_names(y)
        for row in self.shown.rows:
            y += FREE
            if row.name:
                shapes.append(self._name(row.name, y))
                y += NAMED if self.above else 0
            shapes += self._row(row, y)
            y += DOTTED * len(row.dots)
        shapes += self._axis(y + FREE)
        return Sheet(width=self.width, height=y + FREE + 2 * self.size, shapes=tuple(shapes))

    def _name(self, name: str, y: float) -> Writing:
        if self.above:
            most = int(self.width / (LETTER * self.size))
            return Writing(
                x=0, y=y + NAMED * 0.72, text=_cut(name, most), kind="label", size=self.size
            )  # fmt: skip
        most = int(self.left / (LETTER * self.size)) - 1
        return Writing(
            x=self.left - 12, y=y + DOTTED * 0.72, text=_cut(name, most), kind="label",
            size=self.size, anchor="end",
        )  # fmt: skip

    def _row(self, row: DotRow, top: float) -> Iterator[Shape]:
        bottom = top + DOTTED * len(row.dots)
        for value in self.scale.ticks(5):
            x = self.scale.at(value)
            yield Stroke(points=((x, top), (x, bottom)), kind="grid")
        for line in self.shown.lines:
            x = self.scale.at(line.value)
            yield Stroke(points=((x, top), (x, bottom)), kind="chance")
        for place, dot in enumerate(row.dots):
            yield from self._dot(row, dot, top + DOTTED * (place + 0.5))

    def _dot(self, row: DotRow, dot: Dot, y: float) -> Iterator[Shape]:
        if dot.whisker is not None:
            low, high = (self.scale.at(end) for end in dot.whisker)
            yield Stroke(points=((low, y), (high, y)), kind="interval", series=dot.series)
            for x in (low, high):
                yield Stroke(points=((x, y - 4), (x, y + 4)), kind="interval", series=dot.series)
        if dot.value is not None:
            told = " ".join(filter(None, (row.name, dot.label)))
            yield Mark(
                x=self.scale.at(dot.value), y=y, shape=SHAPES[dot.series % len(SHAPES)],
                kind="hollow" if dot.whisker is None else "solid", series=dot.series, size=5.0,
                said=f"{told}: {dot.said}",
            )  # fmt: skip
        base = y + self.size / 3
        yield Writing(
            x=self.right + self.said, y=base, text=dot.said, kind="figure", size=self.size,
            anchor="end",
        )  # fmt: skip
        if dot.label:
            most = int((self.width - self.right - self.said - 8) / (LETTER * self.size))
            yield Writing(
                x=self.right + self.said + 8, y=base, text=_cut(dot.label, most), kind="name",
                size=self.size, series=dot.series,
            )  # fmt: skip

    def _line_names(self, y: float) -> Iterator[Shape]:
        for line in self.shown.lines:
            half = LETTER * self.size * len(line.name) / 2
            x = min(max(self.scale.at(line.value), half), self.width - half)
            yield Writing(
                x=x, y=y, text=line.name, kind="note", size=self.size - 1, anchor="middle"
            )

    def _axis(self, y: float) -> Iterator[Shape]:
        yield Stroke(points=((self.left, y), (self.right, y)), kind="axis")
        free = float("-inf")
        for value in self.scale.ticks(5):
            said = Writing(
                x=self.scale.at(value), y=y + 1.3 * self.size, text=rounded(value), kind="tick",
                size=self.size - 1, anchor="middle",
            )  # fmt: skip
            if said.box.left >= free:
                free = said.box.right + 4
                yield said


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
