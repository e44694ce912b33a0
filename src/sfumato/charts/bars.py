"""Horizontal bars of equal scale, each with its name and its figure beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.charts.shapes import LETTER, Bar, Picture, Shape, Sheet, Stroke, Writing


@dataclass(frozen=True, kw_only=True)
class Level:
    """One bar; ``said`` is its figure in words."""

    name: str
    value: float
    said: str
    series: int = 0


@dataclass(frozen=True, kw_only=True)
class Line:
    """A vertical line across all bars, such as what chance gives."""

    value: float
    name: str


def bars_picture(
    levels: Sequence[Level], *, most: float | None = None, lines: Sequence[Line] = ()
) -> Picture | None:
    """Bars from zero to ``most``; None without bars."""
    if not levels:
        return None
    highest = most or max(one.value for one in levels) or 1.0
    return Picture(
        wide=_sheet(levels, highest, lines, width=920.0, size=14.0),
        narrow=_sheet(levels, highest, lines, width=360.0, size=12.0),
    )


def _sheet(
    levels: Sequence[Level], highest: float, lines: Sequence[Line], *, width: float, size: float
) -> Sheet:
    above = width < 500  # on a narrow screen a name stands above its bar
    longest = max(len(one.name) for one in levels) * LETTER * size
    left = 4.0 if above else min(max(longest + 16, 120.0), width * 0.42)
    figures = max(len(one.said) for one in levels) * LETTER * size + 14
    room = max(width - left - figures, 60.0)
    tall, gap = 18.0, (26.0 if above else 12.0)
    top = 22.0 if lines else 4.0
    shapes: list[Shape] = []
    for place, one in enumerate(levels):
        y = top + place * (tall + gap) + (gap - 4 if above else 0)
        long = room * min(max(one.value / highest, 0.0), 1.0)
        name = _cut(one.name, int((width if above else left) / (LETTER * size)) - 1)
        shapes += [
            Bar(x=left, y=y, width=room, height=tall, kind="track"),
            Bar(x=left, y=y, width=max(long, 1.0), height=tall, kind="bar", series=one.series,
                said=f"{one.name}: {one.said}"),
            Writing(x=left + max(long, 1.0) + 7, y=y + tall * 0.72, text=one.said, kind="figure",
                    size=size),
            Writing(x=left, y=y - 6, text=name, kind="label", size=size) if above else
            Writing(x=left - 10, y=y + tall * 0.72, text=name, kind="label", size=size,
                    anchor="end"),
        ]  # fmt: skip
    bottom = top + len(levels) * (tall + gap)
    for line in lines:
        x = left + room * min(line.value / highest, 1.0)
        shapes += [
            Stroke(points=((x, top - 4), (x, bottom - gap + 4)), kind="chance"),
            Writing(x=x, y=top - 9, text=line.name, kind="note", size=size - 1, anchor="middle"),
        ]
    return Sheet(width=width, height=bottom, shapes=tuple(shapes))


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
