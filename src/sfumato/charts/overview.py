"""Utility against measured leakage, one line for each method, between the two ends.

Up is more useful and left is more private, whichever way the figures run, so the best place is
always the upper left corner. Every method has its name at its line; a legend would make people look
to and fro. Where marks of others are nearer, a thin line leads from the name to its own. A figure
without an interval is drawn hollow, and so is leakage that is only bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sfumato.charts.numbers import rounded
from sfumato.charts.scale import Scale, spread
from sfumato.charts.shapes import LETTER, Box, Mark, Picture, Shape, Sheet, Stroke, Writing, wrap
from sfumato.charts.sweeps import Spot

SHAPES = ("circle", "square", "triangle", "diamond", "turned")
LOWER = "lower"
# Names of more letters than this are cut: the table has them in full.
MOST_LETTERS = 60
# How far a mark reaches, and how far from there its name may be without a line.
REACH, NEAR = 8.0, 14.0
# Where the level of a mark may stand: above, below, right or left of it.
LEVELS = ((0, -12, "middle"), (0, 20, "middle"), (11, 4, "start"), (-11, 4, "end"))


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A method at one level; ``bounded`` if its leakage is not told from chance, only bounded."""

    said: str
    leakage: Spot
    utility: Spot
    bounded: bool = False

    @property
    def known(self) -> bool:
        """Whether both figures have an interval, and the leakage one that says how much it is."""
        if self.bounded:
            return False
        ends = (self.leakage.low, self.leakage.high, self.utility.low, self.utility.high)
        return all(end is not None for end in ends)


@dataclass(frozen=True, kw_only=True)
class Track:
    """A method: its levels from the strongest to the weakest."""

    name: str
    stops: tuple[Stop, ...]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What is measured, in words, and which way is better."""

    title: str
    better: str


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Everything that the chart shows; ``recommended`` is a method and one of its levels."""

    leakage: Axis
    utility: Axis
    tracks: Sequence[Track]
    ends: Sequence[Track]
    chance: float | None = None
    recommended: tuple[str, str] | None = None


def overview_picture(shown: Overview) -> Picture | None:
    """The chart for wide and narrow screens; None if no method has both figures."""
    if not any(track.stops for track in shown.tracks):
        return None
    wide = _Plot(shown, width=920, height=500, left=84, right=26, size=14.0, letters=30)
    narrow = _Plot(shown, width=360, height=440, left=56, right=10, size=12.0, letters=16)
    return Picture(wide=wide.sheet(), narrow=narrow.sheet())


@dataclass
class _Plot:
    """A sheet in the making; ``taken`` are the places where words cannot stand."""

    shown: Overview
    width: float
    height: float
    left: float
    right: float
    size: float
    letters: int
    taken: list[Box] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.top, self.bottom = 30.0, self.height - 62.0
        every = [stop for track in (*self.shown.tracks, *self.shown.ends) for stop in track.stops]
        x, y = [one.leakage for one in every], [one.utility for one in every]
        across = (self.left, self.width - self.right)
        upright = (self.bottom, self.top)
        chance = [] if self.shown.chance is None else [self.shown.chance]
        self.x = Scale.over(
            [*spread(x), *chance], across if self.shown.leakage.better == LOWER else across[::-1],
            may_be_log=False,
        )  # fmt: skip
        self.y = Scale.over(
            spread(y), upright if self.shown.utility.better != LOWER else upright[::-1],
            may_be_log=True,
        )  # fmt: skip

    def sheet(self) -> Sheet:
        shapes: list[Shape] = [*self._axes(), *self._chance()]
        for number, track in enumerate(self.shown.tracks):
            shapes += self._lines(track, number)
        for number, track in enumerate(self.shown.tracks):
            shapes += self._marks(track, number)
        for track in self.shown.ends:
            shapes += [*self._intervals(track, None), *self._end(track)]
        shapes += self._ring()
        # The ends and the recommendation are named first: they have the first choice of places.
        for track in self.shown.ends:
            shapes += self._name(track, None)
        for number, track in enumerate(self.shown.tracks):
            shapes += self._name(track, number)
        for track in self.shown.tracks:
            shapes += self._levels(track)
        return Sheet(width=self.width, height=self.height, shapes=tuple(shapes))

    def _place(self, stop: Stop) -> tuple[float, float]:
        return self.x.at(stop.leakage.value), self.y.at(stop.utility.value)

    def _axes(self) -> Iterator[Shape]:
        small = self.size - 1
        right = self.width - self.right
        scaled = " (log)" if self.y.logarithmic else ""
        for value in self.y.ticks(6):
            y = self.y.at(value)
            yield Stroke(points=((self.left, y), (right, y)), kind="grid")
            tick = Writing(
                x=self.left - 8, y=y + small / 3, text=rounded(value), kind="tick", size=small,
                anchor="end",
            )  # fmt: skip
            self.taken.append(tick.box)
            yield tick
        for value in self.x.ticks(8 if self.width > 500 else 5):
            x = self.x.at(value)
            yield Stroke(points=((x, self.bottom), (x, self.bottom + 5)), kind="axis")
            yield Writing(
                x=x, y=self.bottom + 8 + small, text=rounded(value), kind="tick", size=small,
                anchor="middle",
            )  # fmt: skip
        yield Stroke(points=((self.left, self.bottom), (right, self.bottom)), kind="axis")
        yield Writing(
            x=self.left, y=self.height - 12, text=f"{self._short(self.shown.leakage.title)} →",
            kind="title", size=self.size,
        )  # fmt: skip
        useful = self._short(self.shown.utility.title, len(scaled)) + scaled
        yield Writing(x=4, y=16, text=f"↑ {useful}", kind="title", size=self.size)

    def _short(self, title: str, more: int = 0) -> str:
        """A title that leaves room for an arrow and some letters more."""
        most = int((self.width - self.left) / (LETTER * self.size)) - 3 - more
        return title if len(title) <= most else f"{title[: most - 1]}…"

    def _chance(self) -> Iterator[Shape]:
        if self.shown.chance is None:
            return
        x = self.x.at(self.shown.chance)
        self.taken.append(Box(x - 1, self.top, x + 1, self.bottom))
        yield Stroke(points=((x, self.top), (x, self.bottom)), kind="chance")
        said = Writing(x=x + 5, y=self.bottom - 7, text="chance", kind="note", size=self.size - 1)
        self.taken.append(said.box)
        yield said

    def _lines(self, track: Track, number: int) -> Iterator[Shape]:
        points = tuple(self._place(stop) for stop in track.stops)
        if len(points) > 1:
            yield Stroke(points=points, kind="path", series=number)
        yield from self._intervals(track, number)

    def _intervals(self, track: Track, number: int | None) -> Iterator[Shape]:
        for stop in track.stops:
            x, y = self._place(stop)
            low, high = stop.leakage.low, stop.leakage.high
            if low is not None and high is not None:
                ends = (self.x.at(low), y), (self.x.at(high), y)
                yield Stroke(points=ends, kind="interval", series=number)
            low, high = stop.utility.low, stop.utility.high
            if low is not None and high is not None:
                ends = (x, self.y.at(low)), (x, self.y.at(high))
                yield Stroke(points=ends, kind="interval", series=number)

    def _marks(self, track: Track, number: int) -> Iterator[Shape]:
        for stop in track.stops:
            x, y = self._place(stop)
            self._take(x, y)
            yield Mark(
                x=x, y=y, shape=SHAPES[number % len(SHAPES)], series=number,
                kind="solid" if stop.known else "hollow", said=self._told(track, stop),
            )  # fmt: skip

    def _end(self, track: Track) -> Iterator[Shape]:
        for stop in track.stops:
            x, y = self._place(stop)
            self._take(x, y)
            yield Mark(x=x, y=y, shape="cross", kind="end", size=8.0, said=self._told(track, stop))

    def _told(self, track: Track, stop: Stop) -> str:
        name = f"{track.name}, {stop.said}" if stop.said else track.name
        figures = (
            f"{axis.title}: {rounded(spot.value)}{_between(spot)}"
            for axis, spot in (
                (self.shown.leakage, stop.leakage), (self.shown.utility, stop.utility),
            )
        )  # fmt: skip
        return f"{name}. {'; '.join(figures)}"

    def _take(self, x: float, y: float) -> None:
        self.taken.append(Box(x - REACH, y - REACH, x + REACH, y + REACH))

    def _recommended(self) -> Stop | None:
        for track in self.shown.tracks:
            for stop in track.stops:
                if (track.name, stop.said) == self.shown.recommended:
                    return stop
        return None

    def _ring(self) -> Iterator[Shape]:
        stop = self._recommended()
        if stop is not None:
            x, y = self._place(stop)
            self.taken.append(Box(x - 13, y - 13, x + 13, y + 13))
            yield Mark(x=x, y=y, shape="circle", kind="ring", size=13.0, said="recommended")

    def _name(self, track: Track, number: int | None) -> Iterator[Shape]:
        """The name of a method at its line, where it covers nothing; "recommended" below it."""
        if not track.stops:
            return
        chosen = track.name == (self.shown.recommended or ("",))[0]
        lines = wrap(_cut(track.name), self.letters)
        kinds = ["name"] * len(lines)
        if chosen:
            lines, kinds = [*lines, "recommended"], [*kinds, "chosen"]
        stops = list(track.stops)
        best = self._recommended() if chosen else None
        order = [best] if best is not None else [stops[-1], stops[0], *stops[1:-1]]
        free = list(self._free(lines, order))
        # A place at its own mark is better than a nearer one at another's.
        own = (one for one in free if self._is_nearest(track, self._block(lines, *one)))
        x, y, anchor = next(own, free[0] if free else self._nearest(lines, order))
        yield from self._leader(track, number, self._block(lines, x, y, anchor))
        for place, (line, kind) in enumerate(zip(lines, kinds, strict=True)):
            said = Writing(
                x=x, y=y + place * self.size * 1.2, text=line, kind=kind, size=self.size,
                anchor=anchor, series=number,
            )  # fmt: skip
            self.taken.append(said.box)
            yield said

    def _leader(self, track: Track, number: int | None, words: Box) -> Iterator[Stroke]:
        """A line from a name to the nearest of its marks, if it could be taken for another's."""
        away, mark = min((words.distance(*one), one) for one in map(self._place, track.stops))
        if away <= REACH + NEAR and self._is_nearest(track, words):
            return
        end = words.nearest(*mark)
        if away > REACH:  # the line begins at the edge of the mark
            share = REACH / math.dist(mark, end)
            start = tuple(a + share * (b - a) for a, b in zip(mark, end, strict=True))
            yield Stroke(points=((start[0], start[1]), end), kind="leader", series=number)

    def _is_nearest(self, track: Track, words: Box) -> bool:
        """Whether no mark of another method is nearer to these words."""
        ways = {
            id(one): min(words.distance(*self._place(stop)) for stop in one.stops)
            for one in (*self.shown.tracks, *self.shown.ends)
            if one.stops
        }
        return ways[id(track)] <= min(ways.values())

    def _free(
        self, lines: Sequence[str], stops: Sequence[Stop]
    ) -> Iterator[tuple[float, float, str]]:
        """Places where lines of words cover nothing, the nearest to their marks first."""
        sheet = Box(2, self.top - 8, self.width - 2, self.bottom - 2)
        for away in (16.0, 24.0, 36.0, 52.0, 74.0, 100.0):
            for stop in stops:
                for x, y, anchor in self._around(stop, lines, away):
                    box = self._block(lines, x, y, anchor)
                    if box.within(sheet) and not any(box.meets(one) for one in self.taken):
                        yield x, y, anchor

    def _around(
        self, stop: Stop, lines: Sequence[str], away: float
    ) -> Iterator[tuple[float, float, str]]:
        x, y = self._place(stop)
        tall = (len(lines) - 1) * self.size * 1.2
        middle = y + self.size / 3 - tall / 2
        yield x + away, middle, "start"
        yield x - away, middle, "end"
        yield x, y - away - tall, "middle"
        yield x, y + away + self.size * 0.6, "middle"
        yield x + away * 0.7, y - away * 0.7 - tall, "start"
        yield x + away * 0.7, y + away * 0.7 + self.size * 0.6, "start"
        yield x - away * 0.7, y - away * 0.7 - tall, "end"
        yield x - away * 0.7, y + away * 0.7 + self.size * 0.6, "end"

    def _block(self, lines: Sequence[str], x: float, y: float, anchor: str) -> Box:
        longest = max(lines, key=len)
        first = Writing(x=x, y=y, text=longest, kind="", size=self.size, anchor=anchor).box
        return Box(
            first.left - 2, first.top, first.right + 2,
            first.bottom + (len(lines) - 1) * self.size * 1.2,
        )  # fmt: skip

    def _nearest(self, lines: Sequence[str], stops: Sequence[Stop]) -> tuple[float, float, str]:
        """Inside the sheet at least, even if the words cover something."""
        for stop in stops:
            for x, y, anchor in self._around(stop, lines, 16.0):
                if self._block(lines, x, y, anchor).within(Box(0, 0, self.width, self.height)):
                    return x, y, anchor
        return self.left + 4, self.top + self.size, "start"

    def _levels(self, track: Track) -> Iterator[Shape]:
        """The level at each mark, as far as there is room; the tooltip has it always."""
        small = self.size - 2
        for stop in track.stops:
            x, y = self._place(stop)
            if not stop.said:
                continue
            for dx, dy, anchor in LEVELS:
                said = Writing(
                    x=x + dx, y=y + dy, text=stop.said, kind="level", size=small, anchor=anchor
                )
                inside = said.box.within(Box(self.left, self.top - 8, self.width, self.bottom))
                if inside and not any(said.box.meets(one) for one in self.taken):
                    self.taken.append(said.box)
                    yield said
                    break


def _between(spot: Spot) -> str:
    if spot.low is None or spot.high is None:
        return " (no interval is known)"
    return f" ({rounded(spot.low)} to {rounded(spot.high)})"


def _cut(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
