"""Leakage and utility against each parameter, and utility against leakage, between two anchors.

Every panel shows "no privacy" and "random output", because a curve alone does not show how much
there was to lose. Methods differ by color, shape and dash. In the panel of utility against leakage
each method is a path from its strongest level to its weakest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.charts.chart import FAINT_INK, HEIGHT, INK, WIDTH, Chart, Parts
from sfumato.charts.sweeps import (
    NO_PRIVACY,
    RANDOM_OUTPUT,
    Anchor,
    Labels,
    Spot,
    Sweep,
    add_dashes,
    figure_scale,
    looks,
    say_figure,
    tips,
)
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import altair


# A filled cross and an empty square; other methods of one point have an empty diamond.
ANCHOR_SHAPES = {NO_PRIVACY: "cross", RANDOM_OUTPUT: "square"}


def frontier(
    sweeps: Sequence[Sweep], anchors: Sequence[Anchor], labels: Labels, methods: list[str]
) -> altair.LayerChart | None:
    """The panel, or None if no level has both figures."""
    import altair

    both = [one for one in sweeps if one.leakage is not None and one.utility is not None]
    ends = [one for one in anchors if one.leakage is not None and one.utility is not None]
    if not both:
        return None
    leaks = [*(one.leakage for one in both), *(one.leakage for one in ends)]
    x = altair.X("leakage:Q", scale=figure_scale(leaks, labels.targets), title=labels.leakage)
    uses = [*(one.utility for one in both), *(one.utility for one in ends)]
    y = altair.Y(
        "utility:Q", scale=figure_scale(uses, may_be_logarithmic=True), title=labels.utility
    )
    color, shape = looks(methods)
    rows = [_pair(one) for one in both]
    told = tips(
        ("method:N", "method"),
        ("said:N", "level"),
        ("leakage:Q", labels.leakage),
        ("utility:Q", str(labels.utility)),
    )
    data = altair.Chart(altair.InlineData(values=rows))
    paths = [
        drawn.encode(x=x, y=y, color=color, order="order:Q", detail="parameter:N")
        for drawn in add_dashes(rows, methods, opacity=0.7)
    ]
    points = data.mark_point(size=70, opacity=1).encode(
        x=x, y=y, color=color, shape=shape, tooltip=told
    )
    targets = altair.Chart(
        altair.InlineData(values=[{"leakage": target} for target in labels.targets])
    ).mark_rule(color=FAINT_INK, strokeWidth=0.75)
    layers = [targets.encode(x=x)] if labels.targets else []
    layers += [*paths, points, *_anchor_points(ends, x, y, labels)]
    return altair.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)


def _anchor_points(
    ends: Sequence[Anchor], x: altair.X, y: altair.Y, labels: Labels
) -> list[altair.Chart]:
    import altair

    layers = []
    for one in ends:
        row = {"name": one.name, "leakage": _spot(one.leakage), "utility": _spot(one.utility)}
        place = altair.Chart(altair.InlineData(values=[row]))
        told = tips(
            ("name:N", "anchor"), ("leakage:Q", labels.leakage), ("utility:Q", str(labels.utility))
        )
        mark = place.mark_point(
            shape=ANCHOR_SHAPES.get(one.name, "diamond"),
            filled=one.name == NO_PRIVACY,
            color=INK,
            size=130,
            strokeWidth=2,
            opacity=1,
        )
        text = place.mark_text(baseline="bottom", dy=-9, color=INK)
        layers += [mark.encode(x=x, y=y, tooltip=told), text.encode(x=x, y=y, text="name:N")]
    return layers


def _pair(one: Sweep) -> dict[str, Any]:
    return {
        "method": one.method,
        "parameter": one.parameter,
        "said": f"{one.parameter} = {say_figure(one.level)}",
        "leakage": _spot(one.leakage),
        "utility": _spot(one.utility),
        "order": min(one.level, 1e300),  # JSON has no infinity
    }


def _spot(spot: Spot | None) -> float | None:
    return None if spot is None else spot.value


__all__ = ["Anchor", "Labels", "Spot", "Sweep", "calibration_chart"]

ANCHOR_DASHES = {NO_PRIVACY: [8, 4], RANDOM_OUTPUT: [3, 3]}
# The axis of levels is logarithmic from this ratio of the largest to the smallest level on.
WIDE = 8
LEAKAGE, UTILITY = "leakage", "utility"
# The space for names to the right of a panel.
BESIDE = 110
# The height of a name.
LINE = 13.0


def calibration_chart(sweeps: Sequence[Sweep], anchors: Sequence[Anchor], labels: Labels) -> Chart:
    """Two panels for each parameter, then utility against leakage."""
    import altair

    if not sweeps:
        raise InvalidArgument("a chart of a calibration needs at least one level of one method")
    methods = list(dict.fromkeys(one.method for one in sweeps))
    # Altair copies all parts of a chart for every part of which it is made into a larger one: the
    # panels are written out one by one, and put together here.
    parts = Parts()
    rows: list[Any] = []
    for parameter in dict.fromkeys(one.parameter for one in sweeps):
        some = [one for one in sweeps if one.parameter == parameter]
        panels = [_Panel(some, anchors, labels, methods, name) for name in _names(labels)]
        beside = [parts.written(panel.drawn()) for panel in panels]
        rows.append({"hconcat": beside, "spacing": BESIDE})
    paths = frontier(sweeps, anchors, labels, methods) if labels.utility is not None else None
    if paths is not None:
        rows.append(parts.written(paths))
    title = altair.TitleParams(
        text="Leakage and utility between no privacy and random output", subtitle=labels.subtitle
    )
    return parts.chart({"vconcat": rows, "spacing": 40, "title": title.to_dict()})


def _names(labels: Labels) -> tuple[str, ...]:
    return (LEAKAGE,) if labels.utility is None else (LEAKAGE, UTILITY)


@dataclass(frozen=True)
class _Across:
    """A horizontal line across a panel."""

    value: float
    name: str
    color: str
    dash: list[int]


def apart(heights: Sequence[float]) -> list[float]:
    """How far to move each name up, lowest first, so that none covers another.

    >>> apart([0.0, 4.0, 50.0])
    [0.0, 9.0, 0.0]
    """
    shifts: list[float] = []
    free = -math.inf
    for height in heights:
        shifts.append(max(0.0, free - height))
        free = height + shifts[-1] + LINE
    return shifts


@dataclass(frozen=True)
class _Panel:
    """One figure against one parameter."""

    sweeps: Sequence[Sweep]
    anchors: Sequence[Anchor]
    labels: Labels
    methods: list[str]
    name: str

    def drawn(self) -> altair.LayerChart:
        import altair

        layers = [*self._lines(), *self._curves()]
        return altair.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)

    def _scale(self) -> altair.Scale:
        known = [getattr(one, self.name) for one in (*self.sweeps, *self.anchors)]
        leaking = self.name == LEAKAGE
        more = self.labels.targets if leaking else ()
        return figure_scale(known, more, may_be_logarithmic=not leaking)

    def _y(self, field: str = "value") -> altair.Y:
        import altair

        title = getattr(self.labels, self.name)
        return altair.Y(f"{field}:Q", scale=self._scale(), title=title)

    def _lines(self) -> list[altair.Chart]:
        """Horizontal lines with their names: the anchors around the curves, and the targets."""
        lines = [
            _Across(spot.value, one.name, INK if one.name in ANCHOR_DASHES else FAINT_INK,
                    ANCHOR_DASHES.get(one.name, [1, 0]))
            for one in self.anchors
            if (spot := getattr(one, self.name)) is not None
        ]  # fmt: skip
        if self.name == LEAKAGE:
            targets = self.labels.targets
            lines += [_Across(one, f"target {one:g}", FAINT_INK, [1, 2]) for one in targets]
        lines.sort(key=lambda line: line.value)
        shifts = apart([self._height(line.value) for line in lines])
        return [
            layer
            for line, shift in zip(lines, shifts, strict=True)
            for layer in self._across(line, shift)
        ]

    def _height(self, value: float) -> float:
        """The height of a value above the lower end of the panel, in points."""
        scale: dict[str, Any] = self._scale().to_dict()
        low, high = (float(end) for end in scale["domain"])
        if scale.get("type") == "log":
            low, high, value = math.log(low), math.log(high), math.log(value)
        return HEIGHT * (value - low) / (high - low)

    def _across(self, line: _Across, shift: float) -> list[altair.Chart]:
        import altair

        place = altair.Chart(altair.InlineData(values=[{"name": line.name, "value": line.value}]))
        rule = place.mark_rule(color=line.color, strokeDash=line.dash, strokeWidth=1.5)
        text = place.mark_text(align="left", baseline="middle", dx=5, dy=-shift, color=line.color)
        whole = {"x": altair.value(0), "x2": altair.value("width")}
        told = tips(("name:N", "line"), ("value:Q", getattr(self.labels, self.name)))
        return [
            rule.encode(y=self._y(), tooltip=told, **whole),
            text.encode(y=self._y(), text="name:N", x=altair.value("width")),
        ]

    def _curves(self) -> list[altair.Chart]:
        import altair

        edge = _edge([one.level for one in self.sweeps])
        x = _level_axis(self.sweeps, edge)
        rows = [
            {**_row(one, getattr(one, self.name)), "place": min(one.level, edge)}
            for one in self.sweeps
            if getattr(one, self.name) is not None
        ]
        line = [
            {**row, "value": row["fitted"]} if self.name == LEAKAGE else row
            for row in rows
            if self.name == UTILITY or row["fitted"] is not None
        ]
        color, shape = looks(self.methods)
        told = tips(
            ("method:N", "method"),
            ("said:N", self.sweeps[0].parameter),
            ("value:Q", getattr(self.labels, self.name)),
            ("low:Q", "95 % from"),
            ("high:Q", "to"),
        )
        known = [row for row in rows if row["low"] is not None]
        spans = altair.Chart(altair.InlineData(values=known)).mark_rule(strokeWidth=1.5)
        lines = [
            drawn.encode(x=x, y=self._y(), color=color) for drawn in add_dashes(line, self.methods)
        ]
        points = altair.Chart(altair.InlineData(values=rows)).mark_point(size=70, opacity=1)
        return [
            spans.encode(x=x, y=self._y("low"), y2="high", color=color),
            *lines,
            points.encode(x=x, y=self._y(), color=color, shape=shape, tooltip=told),
        ]


def _edge(levels: Sequence[float]) -> float:
    """Where an infinite level is drawn: a step beyond the largest finite one."""
    finite = [level for level in levels if math.isfinite(level)]
    if not finite:
        return 1.0
    low, high = min(finite), max(finite)
    return high * 2 if _logarithmic(finite) else high + (0.25 * (high - low) or 1.0)


def _logarithmic(finite: Sequence[float]) -> bool:
    return min(finite) > 0 and max(finite) / min(finite) >= WIDE


def _level_axis(sweeps: Sequence[Sweep], edge: float) -> altair.X:
    import altair

    levels = sorted({min(one.level, edge) for one in sweeps})
    finite = [one.level for one in sweeps if math.isfinite(one.level)] or [1.0]
    if _logarithmic(finite):
        scale = altair.Scale(type="log", domain=[levels[0] / 1.2, levels[-1] * 1.2], nice=False)
    else:
        margin = 0.06 * ((levels[-1] - levels[0]) or 1.0)
        scale = altair.Scale(domain=[levels[0] - margin, levels[-1] + margin], nice=False)
    endless = any(math.isinf(one.level) for one in sweeps)
    label = f"datum.value >= {edge!r} ? '∞' : format(datum.value, '.6~r')" if endless else None
    expression: dict[str, Any] = {"labelExpr": label} if label else {"format": ".6~r"}
    axis = altair.Axis(grid=False, values=levels, **expression)
    return altair.X("place:Q", scale=scale, axis=axis, title=sweeps[0].parameter)


def _row(one: Sweep, spot: Spot) -> dict[str, Any]:
    return {
        "method": one.method,
        "said": say_figure(one.level),
        "value": spot.value,
        "low": spot.low,
        "high": spot.high,
        "fitted": one.fitted,
    }
