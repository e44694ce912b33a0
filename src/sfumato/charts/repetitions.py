"""Mean exposure against repetitions: a panel for each method, a line for each of its levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.charts.saving import Chart
from sfumato.charts.theme import COLOURS, FAINT_INK, HEIGHT
from sfumato.core.errors import InvalidArgument

PANEL = 300
DASHES = ([1, 0], [6, 3], [2, 2])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
END_SHAPES = ("triangle-left", "triangle-right")


@dataclass(frozen=True, kw_only=True)
class MeanExposure:
    """The mean over secrets planted equally often; without a level it is one of the two ends.

    ``how`` says how ranks were found: exact, sampled or extrapolated.
    """

    method: str
    level: float | None
    repetitions: int
    exposure: float
    low: float | None
    high: float | None
    how: str = "exact"


def repetitions_chart(means: Sequence[MeanExposure]) -> Chart:
    """Lines over the numbers of repetitions; what has no level is drawn dashed in every panel."""
    import altair

    if not means:
        raise InvalidArgument("a chart of exposure needs at least one mean")
    # Two ways of ranking would be two lines of the same name; the first is the surer one.
    order = ("exact", "sampled", "extrapolated")
    how = min((one.how for one in means), key=order.index)
    used = [one for one in means if one.how == how]
    methods = list(dict.fromkeys(one.method for one in used if one.level is not None))
    ends = list(dict.fromkeys(one.method for one in used if one.level is None))
    panels = methods or ["without a level"]
    levels = sorted({one.level for one in used if one.level is not None})
    names = [*map(_said, levels), *ends]
    rows = [row for one in used for row in _rows(one, panels)]
    counts = sorted({one.repetitions for one in used})
    x = altair.X(
        "repetitions:O",
        sort=counts,
        axis=altair.Axis(labelAngle=0, grid=False),
        title="times planted",
    )
    legend = altair.Legend(title="level", orient="bottom", columns=6)
    styles = [_style(place, len(levels)) for place in range(len(names))]
    encoded = {
        "x": x,
        "color": altair.Color(
            "series:N",
            scale=altair.Scale(domain=names, range=[one["colour"] for one in styles]),
            legend=legend,
        ),
        "tooltip": [
            altair.Tooltip("method:N"),
            altair.Tooltip("series:N", title="level"),
            altair.Tooltip("repetitions:O", title="times planted"),
            altair.Tooltip("exposure:Q", title="mean exposure in bits", format=".2f"),
            altair.Tooltip("interval:N", title="95 % interval"),
        ],
    }
    y = altair.Y("exposure:Q", title="mean exposure in bits")
    base = altair.Chart()
    line = base.mark_line(strokeWidth=2).encode(
        y=y,
        strokeDash=altair.StrokeDash(
            "series:N",
            scale=altair.Scale(domain=names, range=[one["dash"] for one in styles]),
            legend=legend,
        ),
        **encoded,
    )
    points = base.mark_point(size=55, filled=True).encode(
        y=y,
        shape=altair.Shape(
            "series:N",
            scale=altair.Scale(domain=names, range=[one["shape"] for one in styles]),
            legend=legend,
        ),
        **encoded,
    )
    drawing = (
        altair.layer(line, points, data=altair.InlineData(values=rows))
        .properties(width=PANEL, height=HEIGHT)
        .facet(
            facet=altair.Facet(
                "panel:N", sort=panels, title=None, header=altair.Header(labelFontSize=12)
            ),
            columns=2,
        )
    )
    return Chart.of(drawing)


def _rows(one: MeanExposure, panels: Sequence[str]) -> list[dict[str, Any]]:
    end = one.level is None
    return [
        {
            "panel": panel,
            "method": one.method,
            "series": one.method if one.level is None else _said(one.level),
            "repetitions": one.repetitions,
            "exposure": one.exposure,
            "interval": "not known"
            if one.low is None or one.high is None
            else f"{one.low:.2f} to {one.high:.2f}",
        }
        for panel in (panels if end else [one.method])
    ]


def _said(level: float) -> str:
    return "∞" if math.isinf(level) else f"{level:g}"


def _style(place: int, levels: int) -> dict[str, Any]:
    """Levels take the colours in turn; the ends are grey and dashed."""
    if place >= levels:
        return {
            "colour": FAINT_INK,
            "dash": [6, 4] if place == levels else [2, 3],
            # Where all are planted equally often there is no line, and a filled stroke has no area.
            "shape": END_SHAPES[(place - levels) % len(END_SHAPES)],
        }
    return {
        "colour": COLOURS[place % len(COLOURS)],
        "dash": DASHES[place // len(COLOURS) % len(DASHES)],
        "shape": SHAPES[place % len(SHAPES)],
    }
