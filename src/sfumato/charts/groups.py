"""A figure for each group of documents: noise seldom affects all groups alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.charts.chart import COLORS, Chart
from sfumato.core.errors import InvalidArgument

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
WIDTH = 480
EACH, APART = 11, 14


@dataclass(frozen=True, kw_only=True)
class GroupPoint:
    """What was measured on one group; ``place`` is a method at a level."""

    place: str
    group: str
    value: float
    low: float | None
    high: float | None
    n: int


def groups_chart(points: Sequence[GroupPoint], *, metric: str, field: str) -> Chart:
    """A row for each method and level, with its groups one below the other."""
    import altair

    if not points:
        raise InvalidArgument("a chart of groups needs at least one of them")
    groups = list(dict.fromkeys(one.group for one in points))
    places = list(dict.fromkeys(one.place for one in points))
    rows: list[dict[str, Any]] = [asdict(one) for one in points]
    known = [row for row in rows if row["low"] is not None and row["high"] is not None]
    legend = altair.Legend(title=field, orient="bottom", columns=5)

    def taken(looks: Sequence[str]) -> altair.Scale:
        many = [looks[place % len(looks)] for place in range(len(groups))]
        return altair.Scale(domain=groups, range=many)

    placed = {
        "y": altair.Y(
            "place:N", sort=places, title=None, axis=altair.Axis(labelLimit=260, grid=True)
        ),
        "yOffset": altair.YOffset("group:N", sort=groups),
        "color": altair.Color("group:N", scale=taken(COLORS), legend=legend),
    }
    along = altair.X(scale=altair.Scale(zero=False), title=metric)

    def at(name: str) -> altair.X:
        copied = along.copy()
        copied.shorthand = f"{name}:Q"
        return copied

    intervals = altair.Chart(altair.InlineData(values=known)).mark_rule(strokeWidth=2)
    marks = altair.Chart(altair.InlineData(values=rows)).mark_point(size=55, filled=True, opacity=1)
    drawn = marks.encode(
        x=at("value"),
        shape=altair.Shape("group:N", scale=taken(SHAPES), legend=legend),
        tooltip=[
            altair.Tooltip("place:N", title="method"),
            altair.Tooltip("group:N", title=field),
            altair.Tooltip("value:Q", title=metric, format=".4~g"),
            altair.Tooltip("low:Q", title="95 % from", format=".4~g"),
            altair.Tooltip("high:Q", title="to", format=".4~g"),
            altair.Tooltip("n:Q", title="measured on", format=",d"),
        ],
        **placed,
    )
    layers = [intervals.encode(x=at("low"), x2="high", **placed), drawn]
    height = len(places) * (len(groups) * EACH + APART)
    return Chart.of(altair.layer(*layers).properties(width=WIDTH, height=height))
