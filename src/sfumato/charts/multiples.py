"""A small panel for each method: leakage and utility against its levels, all on the same scales.

Methods stand side by side and share the upright axes, so that heights can be compared across them.
Each has levels of its own, in equal steps: equal levels of different notions of privacy are not
equal privacy, and no axis should suggest that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.charts.numbers import plain, rounded
from sfumato.charts.overview import LOWER, SHAPES, Axis
from sfumato.charts.scale import Scale, spread
from sfumato.charts.shapes import LETTER, Mark, Picture, Shape, Sheet, Stroke, Writing
from sfumato.charts.sweeps import Anchor, Spot, Sweep

# The parameter of a method that has none.
NO_LEVEL = "no level"
# Methods in a row on a wide screen.
MOST_ACROSS = 4
HIGH, GAP = 150.0, 14.0
ABOVE, BELOW, BETWEEN = 44.0, 34.0, 30.0


@dataclass(frozen=True, kw_only=True)
class Multiples:
    """What the panels show; ``note`` says of a method which notion its levels are of."""

    leakage: Axis
    utility: Axis | None
    sweeps: Sequence[Sweep]
    ends: Sequence[Anchor]
    notes: dict[str, str]

    @property
    def methods(self) -> list[str]:
        """In the order of the study."""
        return list(dict.fromkeys(one.method for one in self.sweeps))

    @property
    def rows(self) -> list[tuple[str, Axis]]:
        """One row of panels for each quantity."""
        both = [("leakage", self.leakage), ("utility", self.utility)]
        return [(name, axis) for name, axis in both if axis is not None]


def multiples_picture(shown: Multiples) -> Picture | None:
    """The panels for wide and narrow screens; None if there is nothing to show."""
    if not shown.sweeps:
        return None
    across = min(len(shown.methods), MOST_ACROSS)
    return Picture(
        wide=_sheet(shown, width=920.0, size=12.0, across=across),
        narrow=_sheet(shown, width=360.0, size=11.0, across=min(across, 2)),
    )


def _sheet(shown: Multiples, *, width: float, size: float, across: int) -> Sheet:
    left = 50.0
    wide = (width - left - GAP * across) / across
    bands = [shown.methods[at : at + across] for at in range(0, len(shown.methods), across)]
    shapes: list[Shape] = []
    top = 0.0
    for band in bands:
        for number, (name, axis) in enumerate(shown.rows):
            upper = top + ABOVE + number * (HIGH + BELOW + BETWEEN)
            row = _Row(shown, name, axis, (upper, width), size)
            shapes += row.title()
            for place, method in enumerate(band):
                start = left + place * (wide + GAP)
                shapes += row.panel(method, start, wide, first=place == 0, named=number == 0)
        top += ABOVE + len(shown.rows) * (HIGH + BELOW + BETWEEN)
    return Sheet(width=width, height=top, shapes=tuple(shapes))


class _Row:
    """Panels of one quantity on one scale."""

    def __init__(
        self, shown: Multiples, name: str, axis: Axis, place: tuple[float, float], size: float
    ) -> None:
        self.shown, self.name, self.axis, self.size = shown, name, axis, size
        self.top, self.width = place
        top = self.top
        every: list[Sweep | Anchor] = [*shown.sweeps, *shown.ends]
        known = [self._of(one) for one in every]
        places = (top + HIGH, top)
        # In the row of utility up is better; in that of leakage up is what leaks more.
        up = (axis.better == LOWER) == (name == "leakage")
        self.scale = Scale.over(
            spread([one for one in known if one is not None]),
            places if up else places[::-1],
            may_be_log=name == "utility",
        )

    def _of(self, one: Sweep | Anchor) -> Spot | None:
        spot: Spot | None = getattr(one, self.name)
        return spot

    def title(self) -> Iterator[Shape]:
        yield Writing(
            x=0,
            y=self.top - 8,
            text=self._fit(f"↑ {self.axis.title}", self.width),
            kind="title",
            size=self.size,
        )

    def panel(
        self, method: str, left: float, wide: float, *, first: bool, named: bool
    ) -> Iterator[Shape]:
        series = self.shown.methods.index(method)
        right = left + wide
        for value in self.scale.ticks(4):
            y = self.scale.at(value)
            yield Stroke(points=((left, y), (right, y)), kind="grid")
            if first:
                yield Writing(
                    x=left - 6, y=y + self.size / 3, text=rounded(value), kind="tick",
                    size=self.size - 1, anchor="end",
                )  # fmt: skip
        yield from self._ends(left, right, first=first)
        yield from self._stops(method, series, left, wide)
        if named:
            name = self._fit(method, wide)
            yield Writing(
                x=left, y=self.top - 26, text=name, kind="name", size=self.size, series=series
            )

    def _fit(self, text: str, wide: float) -> str:
        most = int(wide / (LETTER * self.size))
        return text if len(text) <= most else f"{text[: most - 1]}…"

    def _ends(self, left: float, right: float, *, first: bool) -> Iterator[Shape]:
        for one in self.shown.ends:
            spot = self._of(one)
            if spot is None:
                continue
            y = self.scale.at(spot.value)
            yield Stroke(points=((left, y), (right, y)), kind="chance")
            if first:
                above = y - 4 if y > self.top + self.size + 4 else y + self.size
                yield Writing(x=left + 3, y=above, text=one.name, kind="note", size=self.size - 1)

    def _stops(self, method: str, series: int, left: float, wide: float) -> Iterator[Shape]:
        mine = sorted(
            (one for one in self.shown.sweeps if one.method == method), key=lambda one: one.level
        )
        step = wide / (len(mine) + 1)
        at = {one.level: left + step * (place + 1) for place, one in enumerate(mine)}
        fitted = [(at[one.level], one.fitted) for one in mine if one.fitted is not None]
        line = fitted if self.name == "leakage" and fitted else [
            (at[one.level], spot.value) for one in mine if (spot := self._of(one)) is not None
        ]  # fmt: skip
        if len(line) > 1:
            points = tuple((x, self.scale.at(value)) for x, value in line)
            yield Stroke(points=points, kind="path", series=series)
        for one in mine:
            yield from self._stop(one, at[one.level], series)
        for x, said in self._levels(mine, at, step):
            yield Writing(
                x=x, y=self.top + HIGH + self.size + 3, text=said, kind="tick",
                size=self.size - 1, anchor="middle",
            )  # fmt: skip
        parameter = "ε" if mine[0].parameter == "epsilon" else mine[0].parameter
        note = self.shown.notes.get(method)
        below = f"{parameter} ({note})" if note else parameter
        yield Writing(
            x=left, y=self.top + HIGH + 2 * self.size + 6, text=self._fit(below, wide + 10),
            kind="note", size=self.size - 1,
        )  # fmt: skip

    def _levels(
        self, mine: Sequence[Sweep], at: dict[float, float], step: float
    ) -> Iterator[tuple[float, str]]:
        """As many levels as have room below their marks."""
        free = float("-inf")
        for one in mine if mine[0].parameter != NO_LEVEL else ():
            said = plain(one.level)
            half = LETTER * self.size * len(said) / 2
            if at[one.level] - half >= free or step > 4 * half:
                free = at[one.level] + half + 3
                yield at[one.level], said

    def _stop(self, one: Sweep, x: float, series: int) -> Iterator[Shape]:
        spot = self._of(one)
        if spot is None:
            return
        known = spot.low is not None and spot.high is not None
        if spot.low is not None and spot.high is not None:
            ends = ((x, self.scale.at(spot.low)), (x, self.scale.at(spot.high)))
            yield Stroke(points=ends, kind="interval", series=series)
        between = f" ({rounded(spot.low)} to {rounded(spot.high)})" if known else ""
        yield Mark(
            x=x, y=self.scale.at(spot.value), shape=SHAPES[series % len(SHAPES)], size=4.5,
            kind="solid" if known else "hollow", series=series,
            said=f"{one.method} at {plain(one.level)}: {rounded(spot.value)}{between}",
        )  # fmt: skip
