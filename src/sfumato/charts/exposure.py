"""Exposure against repetitions, with what chance gives: every canary, the means, the controls.

The chart of a study shows means: a panel for each method, a line for each of its levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.charts.chart import BAND_OPACITY, COLORS, FAINT_INK, HEIGHT, WIDTH, Chart
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import altair


NEVER = "control"
# By chance an exposure is below this in 19 of 20 cases: P[exposure >= x] <= 2^(−x).
NINETEEN_IN_TWENTY = math.log2(20)
MEAN_BY_CHANCE = 1 / math.log(2)
METHODS = ("exact", "sampled", "extrapolated")
SHAPES = ("circle", "square", "triangle-up")


def exposure_chart(details: Mapping[str, Any]) -> Chart:
    """Draw an exposure attack from its details."""
    import altair

    canaries, means = details.get("canaries"), details.get("means")
    if not canaries or not means:
        raise InvalidArgument("a chart of exposure needs the details of at least one canary")
    ceiling = max(math.log2(one["space"]) for one in canaries)
    counts = sorted({one["repetitions"] for one in canaries})
    x = altair.X(
        "repetitions:N",
        sort=[NEVER, *map(str, counts)],
        scale=altair.Scale(domain=[NEVER, *map(str, counts)]),
        axis=altair.Axis(labelAngle=0, grid=False),
        title="times planted",
    )
    y = altair.Y(
        "exposure:Q", scale=altair.Scale(domain=[0, ceiling * 1.04]), title="exposure in bits"
    )
    layers = [*_law(ceiling), *_controls(details, x, y), *_canaries(canaries, x, y)]
    layers += _means(means, x, y)
    title = altair.TitleParams(
        text="How far the model ranks planted secrets above others",
        subtitle="band: at least 19 of 20 secrets that were never planted, whatever the model",
    )
    drawing = altair.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT, title=title)
    return Chart.of(drawing)


def _law(ceiling: float) -> list[altair.Chart]:
    import altair

    row = {
        "low": 0,
        "high": min(ceiling, NINETEEN_IN_TWENTY),
        "mean": MEAN_BY_CHANCE,
        "ceiling": ceiling,
        "said": f"at most {ceiling:.1f} bits",
    }
    place = altair.Chart(altair.InlineData(values=[row]))
    whole = {"x": altair.value(0), "x2": altair.value("width")}
    band = place.mark_rect(color=FAINT_INK, opacity=BAND_OPACITY).encode(
        y="low:Q", y2="high", **whole
    )
    mean = place.mark_rule(strokeDash=[5, 4], color=FAINT_INK).encode(y="mean:Q", **whole)
    top = place.mark_rule(strokeDash=[2, 3], color=FAINT_INK).encode(y="ceiling:Q", **whole)
    said = place.mark_text(align="left", baseline="top", dx=4, dy=4, color=FAINT_INK).encode(
        y="ceiling:Q", x=altair.value(0), text="said:N"
    )
    return [band, mean, top, said]


def _controls(details: Mapping[str, Any], x: altair.X, y: altair.Y) -> list[altair.Chart]:
    """The middle 90 % of the exposures of secrets that were never planted, and their mean."""
    import altair
    import numpy as np

    values = [value for one in details.get("never_planted", ()) for value in one["exposures"]]
    if not values:
        return []
    low, high = np.quantile(values, [0.05, 0.95]).tolist()
    row = {
        "repetitions": NEVER,
        "exposure": low,
        "most": high,
        "mean": float(np.mean(values)),
        "n": len(values),
    }
    place = altair.Chart(altair.InlineData(values=[row]))
    tips = [altair.Tooltip("n:Q", title="secrets never planted", format=",d")]
    span = place.mark_rule(color=FAINT_INK, strokeWidth=6, opacity=0.6).encode(
        x=x, y=y, y2="most", tooltip=tips
    )
    mean = y.copy()
    mean.shorthand = "mean:Q"
    tick = place.mark_tick(color=FAINT_INK, thickness=2, width=18).encode(x=x, y=mean)
    return [span, tick]


def _color(methods: list[str]) -> altair.Color:
    import altair

    return altair.Color(
        "method:N",
        scale=altair.Scale(domain=methods, range=[COLORS[METHODS.index(one)] for one in methods]),
        legend=altair.Legend(orient="bottom", title=None),
    )


def _shape(methods: list[str]) -> altair.Shape:
    import altair

    return altair.Shape(
        "method:N",
        scale=altair.Scale(domain=methods, range=[SHAPES[METHODS.index(one)] for one in methods]),
        legend=altair.Legend(orient="bottom", title=None),
    )


def _methods(rows: list[dict[str, Any]]) -> list[str]:
    used = {row["method"] for row in rows}
    return [one for one in METHODS if one in used]


def _canaries(rows: list[dict[str, Any]], x: altair.X, y: altair.Y) -> list[altair.Chart]:
    import altair

    values = [
        {
            "repetitions": str(row["repetitions"]),
            "exposure": row["exposure"],
            "method": row["method"],
            "template": row["template"],
            "secret": row["secret"],
        }
        for row in rows
    ]
    methods = _methods(rows)
    points = altair.Chart(altair.InlineData(values=values)).mark_point(opacity=0.55)
    tips = [
        altair.Tooltip("template:N"),
        altair.Tooltip("secret:N", title="planted secret"),
        altair.Tooltip("exposure:Q", format=".2f"),
    ]
    return [points.encode(x=x, y=y, color=_color(methods), shape=_shape(methods), tooltip=tips)]


def _means(rows: list[dict[str, Any]], x: altair.X, y: altair.Y) -> list[altair.Chart]:
    import altair

    values = [
        {
            "repetitions": str(row["repetitions"]),
            "exposure": row["mean"],
            "low": row["low"],
            "high": row["high"],
            "method": row["method"],
            "n": row["n"],
        }
        for row in rows
    ]
    tips = [
        altair.Tooltip("exposure:Q", title="mean exposure", format=".2f"),
        altair.Tooltip("low:Q", format=".2f"),
        altair.Tooltip("high:Q", format=".2f"),
        altair.Tooltip("n:Q", title="canaries"),
    ]
    methods = _methods(rows)
    low = y.copy()
    low.shorthand = "low:Q"
    known = altair.Chart(
        altair.InlineData(values=[row for row in values if row["low"] is not None])
    )
    interval = known.mark_rule(strokeWidth=2).encode(x=x, y=low, y2="high", color=_color(methods))
    mean = altair.Chart(altair.InlineData(values=values)).mark_tick(thickness=3, width=22)
    return [interval, mean.encode(x=x, y=y, color=_color(methods), tooltip=tips)]


PANEL = 300
DASHES = ([1, 0], [6, 3], [2, 2])
LEVEL_SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
)
END_SHAPES = ("triangle-left", "triangle-right")


@dataclass(frozen=True, kw_only=True)
class MeanExposure:
    """The mean over secrets planted equally often; an anchor has no level.

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
    """Lines over the numbers of repetitions; anchors are drawn dashed in every panel."""
    import altair

    if not means:
        raise InvalidArgument("a chart of exposure needs at least one mean")
    # Two ways of ranking would be two lines of the same name; the most reliable one is drawn.
    order = ("exact", "sampled", "extrapolated")
    how = min((one.how for one in means), key=order.index)
    used = [one for one in means if one.how == how]
    methods = list(dict.fromkeys(one.method for one in used if one.level is not None))
    ends = list(dict.fromkeys(one.method for one in used if one.level is None))
    panels = methods or ["without a level"]
    levels = sorted({one.level for one in used if one.level is not None})
    names = [*map(_say, levels), *ends]
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
            scale=altair.Scale(domain=names, range=[one["color"] for one in styles]),
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
            "series": one.method if one.level is None else _say(one.level),
            "repetitions": one.repetitions,
            "exposure": one.exposure,
            "interval": "not known"
            if one.low is None or one.high is None
            else f"{one.low:.2f} to {one.high:.2f}",
        }
        for panel in (panels if end else [one.method])
    ]


def _say(level: float) -> str:
    return "∞" if math.isinf(level) else f"{level:g}"


def _style(place: int, levels: int) -> dict[str, Any]:
    """Levels take the colors in turn; anchors are grey and dashed."""
    if place >= levels:
        return {
            "color": FAINT_INK,
            "dash": [6, 4] if place == levels else [2, 3],
            # If all secrets were planted equally often there is no line, so symbols must have an
            # area.
            "shape": END_SHAPES[(place - levels) % len(END_SHAPES)],
        }
    return {
        "color": COLORS[place % len(COLORS)],
        "dash": DASHES[place // len(COLORS) % len(DASHES)],
        "shape": LEVEL_SHAPES[place % len(LEVEL_SHAPES)],
    }
