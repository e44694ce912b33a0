"""Charts of the gallery, from the tables of its pages: one figure against another, or dots in rows.

A table gives points with two names each, such as a method and its level: that of the row, and that
of the column or of a second column. All words in a chart are words of the table, or stand for them
by ``called``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from gallery_tables import NOTHING, Figure, NotFound, Page, figures
from sfumato.charts.bars import Line
from sfumato.charts.dots import Dot, DotRow, Dots, dots_picture
from sfumato.charts.overview import Axis, Overview, Stop, Track, overview_picture
from sfumato.charts.shapes import Sheet
from sfumato.charts.sweeps import Spot

# How something is named of which the table has a number only: {} stands for the number.
AS_IT_IS = "{}"
# What a chart may say: dots have a title and a line, methods have ends, levels and chance.
DOTS, SIDES = "dots", ("leakage", "utility")
KEYS = {"dots", "title", "line", "called", "caption"}
KEYS |= {"both", "leakage", "utility", "ends", "level", "chance"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where points come from: a table, or words of the page that have a number.

    ``names`` are the columns that name a row (the first one, if there is none); ``columns`` are the
    figures, whose headings are the second name unless ``second`` is a column for that; ``split``
    takes both names out of the first, at its last comma; ``turned`` exchanges the two. ``where``,
    ``only`` and ``without`` choose rows; ``part`` is the place of the figure in a cell that has
    several; ``row`` is what the first name becomes. A ``quote`` has no table, and its two names are
    ``called``.
    """

    heading: str = ""
    table: int = 1
    names: Sequence[str] = ()
    columns: Sequence[str] = ()
    second: str = ""
    split: bool = False
    turned: bool = False
    where: dict[str, str] = field(default_factory=dict)
    only: Sequence[str] = ()
    without: Sequence[str] = ()
    part: int = 1
    row: str = AS_IT_IS
    quote: str = ""
    called: Sequence[str] = ("", "")

    @classmethod
    def read(cls, given: dict[str, Any]) -> Source:
        """A source as an entry describes it."""
        if unknown := given.keys() - {one.name for one in fields(cls)}:
            raise NotFound(f"a source has no {sorted(unknown)}")
        return cls(**given)


@dataclass(frozen=True)
class Point:
    """A figure and its two names."""

    first: str
    second: str
    figure: Figure


@dataclass(frozen=True)
class Drawn:
    """A chart, what it shows in words, and what stands below it."""

    sheet: Sheet
    told: str
    caption: str


def points(page: Page, source: Source) -> list[Point]:
    """All figures that a source gives; empty cells give none."""
    if source.quote:
        first, second = source.called
        return [Point(first, second, page.quoted(source.quote))]
    table = page.table(source.heading, source.table)
    names = [table.column(one) for one in source.names] or [0]
    found, seen = [], set()
    for row in table.rows:
        name = ", ".join(row[at] for at in names if row[at] not in NOTHING)
        if any(row[table.column(key)] != word for key, word in source.where.items()):
            continue
        if name in source.without or (source.only and name not in source.only):
            continue
        seen.add(name)
        for column in source.columns:
            figure = _one(figures(row[table.column(column)]), source.part)
            second = row[table.column(source.second)] if source.second else column
            first, second = name.rpartition(", ")[::2] if source.split else (name, second)
            if source.split and not first:
                first, second = second, ""
            if figure is not None:
                pair = (second, first) if source.turned else (first, second)
                found.append(Point(source.row.format(pair[0]), pair[1], figure))
    if missing := set(source.only) - seen:
        raise NotFound(f"{page.name} has no row {sorted(missing)} below '{table.heading}'")
    if not found:
        raise NotFound(f"{page.name} has no figures below '{table.heading}'")
    return found


def _one(some: Sequence[Figure | None], part: int) -> Figure | None:
    if some == [None]:
        return None
    if len(some) < part:
        raise NotFound(f"a cell has {len(some)} figures, and figure {part} is asked for")
    return some[part - 1]


def gather(page: Page, chart: dict[str, Any]) -> dict[str, list[Point]]:
    """All points of a chart, of dots or of its two sides; no two have the same names."""
    if unknown := chart.keys() - KEYS:
        raise NotFound(f"a chart has no {sorted(unknown)}")
    both = chart.get("both", {})
    given = {side: [{**both, **chart[side]}] for side in SIDES if side in chart}
    given |= {DOTS: chart[DOTS]} if DOTS in chart else {}
    found = {}
    for side, sources in given.items():
        told = ({key: one[key] for key in one if key not in ("title", "better")} for one in sources)
        found[side] = [point for one in told for point in points(page, Source.read(one))]
        names = [(point.first, point.second) for point in found[side]]
        if len(set(names)) < len(names):
            raise NotFound(f"several figures have the same names among {sorted(set(names))}")
    return found


def cite(text: str, page: Page, chart: dict[str, Any]) -> str:
    """Words in which ``{first | second}`` is the figure of the chart that has these names.

    In a chart of two sides, that of the side comes first. A name that decides nothing can be left
    out at the end.
    """
    every = [
        ([*([] if side == DOTS else [side]), point.first, point.second], point.figure)
        for side, some in gather(page, chart).items()
        for point in some
    ]

    def figure(found: re.Match[str]) -> str:
        asked = [name.strip() for name in found[1].split("|")]
        meant = [one.whole for names, one in every if names[: len(asked)] == asked]
        if len(meant) != 1:
            raise NotFound(f"the chart has {len(meant)} figures for '{found[0]}'")
        return meant[0]

    return re.sub(r"\{([^{}]+)\}", figure, text)


def draw(page: Page, chart: dict[str, Any]) -> Drawn:
    """The chart that an entry describes."""
    found = gather(page, chart)
    return _draw_dots(page, chart, found[DOTS]) if DOTS in found else _draw_overview(
        page, chart, found
    )  # fmt: skip


def _draw_dots(page: Page, chart: dict[str, Any], every: Sequence[Point]) -> Drawn:
    """Dots in rows: the first name is that of the row, the second that of the dot."""
    called = chart.get("called", {})
    labels = list(dict.fromkeys(point.second for point in every))
    many = len({called.get(label, label) for label in labels}) > 1
    rows: dict[str, list[Dot]] = {}
    for point in every:
        dot = Dot(
            said=point.figure.said, value=point.figure.value, low=point.figure.low,
            high=point.figure.high, label=called.get(point.second, point.second) if many else "",
            series=labels.index(point.second),
        )  # fmt: skip
        rows.setdefault(called.get(point.first, point.first), []).append(dot)
    line = chart.get("line")
    lines = [] if line is None else [Line(value=_value(page, line["quote"]), name=line["name"])]
    shown = [DotRow(name=name, dots=tuple(dots)) for name, dots in rows.items()]
    picture = dots_picture(Dots(title=chart["title"], rows=shown, lines=lines))
    assert picture is not None
    told = "; ".join(f"{row.name}: {', '.join(map(_tell, row.dots))}" for row in shown)
    ends = "".join(f" Dashed: {one.name}, {one.value:g}." for one in lines)
    return Drawn(picture.narrow, f"{chart['title']}. {told}.{ends}", chart.get("caption", ""))


def _tell(dot: Dot) -> str:
    said = dot.said
    if dot.value is not None and dot.whisker is not None:
        said += f" ({dot.low:g} to {dot.high:g})"
    return f"{dot.label} {said}".strip()


def _draw_overview(page: Page, chart: dict[str, Any], every: dict[str, list[Point]]) -> Drawn:
    """One figure against another: the first name is that of a method, the second its level."""
    axes = [Axis(title=chart[side]["title"], better=chart[side]["better"]) for side in SIDES]
    found = [{(one.first, one.second): one.figure for one in every[side]} for side in SIDES]
    called, ends = chart.get("called", {}), chart.get("ends", [])
    level = chart.get("level", AS_IT_IS)
    tracks: dict[str, list[Stop]] = {}
    last: dict[str, Track] = {}
    if alone := found[0].keys() ^ found[1].keys():
        raise NotFound(f"{page.name} has one figure of two about {sorted(alone)}")
    for (first, second), leakage in found[0].items():
        utility = found[1][first, second]
        end = next((one for one in (first, second) if one in ends), None)
        said = level.format(second) if second and end is None else ""
        stop = Stop(said=said, leakage=_spot(leakage), utility=_spot(utility))
        if end is None:
            tracks.setdefault(called.get(first, first), []).append(stop)
        elif last.setdefault(end, Track(name=called.get(end, end), stops=(stop,))).stops != (stop,):
            raise NotFound(f"{page.name} has different figures of '{end}'")
    if missing := set(ends) - last.keys():
        raise NotFound(f"{page.name} has no figures of {sorted(missing)}")
    shown = Overview(
        leakage=axes[0], utility=axes[1], ends=list(last.values()),
        tracks=[Track(name=name, stops=tuple(stops)) for name, stops in tracks.items()],
        chance=_value(page, chart["chance"]) if "chance" in chart else None,
    )  # fmt: skip
    picture = overview_picture(shown)
    assert picture is not None
    caption = f"Better is up and left. {chart.get('caption', '')}".strip()
    return Drawn(picture.narrow, _tell_overview(shown), caption)


def _tell_overview(shown: Overview) -> str:
    titles = (axis.title.rpartition(": ")[2] for axis in (shown.utility, shown.leakage))
    told = ["{} (upright) against {} (across)".format(*titles)]
    for track in [*shown.tracks, *shown.ends]:
        ends = [track.stops[0], *track.stops[1:][-1:]]
        told.append(
            f"{track.name}: "
            + " to ".join(
                f"{stop.utility.value:g} at {stop.leakage.value:g}"
                + (f" ({stop.said})" if stop.said else "")
                for stop in ends
            )
        )
    return "; ".join(told) + "."


def _spot(figure: Figure) -> Spot:
    if figure.value is None:
        raise NotFound(f"'{figure.said}' is a range, and a point is asked for")
    return Spot(value=figure.value, low=figure.low, high=figure.high)


def _value(page: Page, quote: str) -> float:
    value = page.quoted(quote).value
    assert value is not None
    return value
