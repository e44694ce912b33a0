"""Groups of documents: the same noise costs some of them more than others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.charts.groups import GroupPoint, groups_chart
from sfumato.charts.numbers import count_things, number
from sfumato.reports.page import (
    Block,
    CellValue,
    Figure,
    Section,
    Table,
    draw_figure,
    paragraph,
)
from sfumato.reports.series import Quantity, SeriesPoint, points, quantities
from sfumato.reports.studied import Studied
from sfumato.results.row import Row
from sfumato.statistics.intervals import difference_interval

# At most so many figures are drawn; the table of all figures has the others.
MOST_DRAWN = 6
# At most so many groups are drawn in a chart.
MOST_GROUPS = 7
# There may be many authors, most of them with too few documents to be attacked alone.
MOST_LISTED = 50


def groups(study: Studied) -> Section | None:
    """A figure for each quantity that was measured by groups, with the gap between them."""
    rows = [row for row in study.rows if row.group_field is not None]
    fields = list(dict.fromkeys(row.group_field for row in rows if row.group_field is not None))
    figures = [
        _figure(field, quantity, found)
        for field in fields
        for quantity in quantities(row for row in rows if row.group_field == field)
        if (found := points(_of(rows, field), quantity))
    ]
    unseen = _left_out(study)
    if not figures and unseen is None:
        return None
    more: list[Block] = []
    if len(figures) > MOST_DRAWN:
        said = f"{len(figures) - MOST_DRAWN:,} further figures by group are among all figures."
        more = [paragraph(said, kind="quiet")]
    if unseen is not None:
        more.append(unseen)
    said = (
        "Noise does not affect all groups alike: what a small group writes may be the first text "
        "to be lost, or the last to be hidden. The gap is between the group that fares best and "
        "the one that fares worst; its interval is for these two, whichever they are. As the "
        "largest of many differences it tends to be overestimated: even equal groups would show a "
        "gap. Every other interval is for one group alone, "
        "and that of a group with fewer than about twenty documents is too narrow."
    )
    return Section(
        name="groups",
        title="Groups of documents",
        parts=[paragraph(said), *figures[:MOST_DRAWN], *more],
    )


def _left_out(study: Studied) -> Table | None:
    """The groups that could not be attacked alone: no figure does not mean no leakage."""
    found = Counter(
        (cell.name, str(group), str(why))
        for cell in study.done
        for group, why in dict(cell.details.get("left_out") or {}).items()
    )
    if not found:
        return None
    rows: list[list[CellValue]] = [[*reason, times] for reason, times in found.items()]
    caption = f"Groups that could not be attacked alone: {count_things(len(rows), 'case')}"
    if len(rows) > MOST_LISTED:
        caption += f", of which the first {MOST_LISTED} are listed"
    head = ("attack", "group", "why", "computations")
    return Table(caption=caption, head=head, rows=rows[:MOST_LISTED])


def _of(rows: Sequence[Row], field: str) -> list[Row]:
    return [row for row in rows if row.group_field == field]


def _figure(field: str, quantity: Quantity, found: list[SeriesPoint]) -> Figure:
    largest = sorted(_sizes(found).items(), key=lambda item: -item[1])
    shown = [name for name, _ in largest[:MOST_GROUPS]]
    drawable = [point for point in found if point.group in shown and math.isfinite(point.value)]
    named = [_drawable(point) for point in drawable]
    widest = max(gaps_of(found, quantity), key=lambda gap: gap.width, default=None)
    said = f"{quantity.role.capitalize()}, {quantity.better} is better."
    if widest is not None:
        said += (
            f" The widest gap is {number(widest.width)} ({widest.place}): {widest.best.group} "
            f"fares best, {widest.worst.group} worst."
        )
    if len(largest) > MOST_GROUPS:
        said += f" The chart shows the {MOST_GROUPS} largest of {len(largest)} groups."
    return Figure(
        title=f"By {field}: {quantity.said}.",
        description=said,
        table=_table(field, quantity, found),
        chart=draw_figure(lambda: groups_chart(named, metric=quantity.metric, field=field))
        if named
        else None,
    )


def _drawable(point: SeriesPoint) -> GroupPoint:
    return GroupPoint(
        place=point.said,
        group=point.group or "",
        value=point.value,
        low=point.low,
        high=point.high,
        n=point.n,
    )


def _sizes(found: Sequence[SeriesPoint]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for point in found:
        name = point.group or ""
        sizes[name] = max(sizes.get(name, 0), point.n)
    return sizes


@dataclass(frozen=True)
class Gap:
    """Where two groups are furthest apart: who fares best, who worst, and how far apart."""

    place: str
    best: SeriesPoint
    worst: SeriesPoint

    @property
    def width(self) -> float:
        """How far apart they are."""
        return abs(self.worst.value - self.best.value)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the width, if both figures have one; it may reach below zero."""
        upper, lower = sorted((self.best, self.worst), key=lambda one: one.value, reverse=True)
        ends = (upper.low, upper.high, lower.low, lower.high)
        low, high, lowest, highest = (math.nan if one is None else one for one in ends)
        found = difference_interval((upper.value, low, high), (lower.value, lowest, highest))
        return None if any(map(math.isnan, found)) else found

    @property
    def said(self) -> str:
        """The interval in words of a table."""
        ends = self.interval
        return "–" if ends is None else f"{number(ends[0])} – {number(ends[1])}"


def gaps_of(found: Sequence[SeriesPoint], quantity: Quantity) -> list[Gap]:
    """The gap at each method and level."""
    by_place: dict[str, list[SeriesPoint]] = {}
    for point in found:
        by_place.setdefault(point.said, []).append(point)
    gaps = []
    for place, some in by_place.items():
        ordered = sorted(some, key=lambda point: point.value, reverse=quantity.better == "higher")
        if len(ordered) > 1:
            gaps.append(Gap(place, ordered[0], ordered[-1]))
    return gaps


def _table(field: str, quantity: Quantity, found: Sequence[SeriesPoint]) -> Table:
    names = list(_sizes(found))
    gaps = {gap.place: gap for gap in gaps_of(found, quantity)}
    rows: list[list[CellValue]] = []
    for place in dict.fromkeys(point.said for point in found):
        here = {point.group or "": point for point in found if point.said == place}
        values: list[CellValue] = [here[name].value if name in here else None for name in names]
        gap = gaps.get(place)
        who = "–" if gap is None else f"{gap.best.group or ''} / {gap.worst.group or ''}"
        width, interval = (None, "–") if gap is None else (gap.width, gap.said)
        rows.append([place, *values, width, interval, who])
    sizes = _sizes(found)
    head = [f"{name} (n = {sizes[name]:,})" for name in names]
    return Table(
        caption=f"{quantity.said} by {field}, with the gap between the best and the worst group",
        head=("method", *head, "gap", "its interval", "best / worst"),
        rows=rows,
    )
