"""Exposure against repetitions, over the law of chance: every canary, the means, the controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.charts.saving import Chart
from sfumato.charts.theme import BAND_OPACITY, COLOURS, FAINT_INK, HEIGHT, WIDTH
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
    """Draw the details of an exposure attack; nothing else is needed."""
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
        "said": f"all there is: {ceiling:.1f} bits",
    }
    place = altair.Chart(altair.InlineData(values=[row]))
    whole = {"x": altair.value(0), "x2": altair.value(WIDTH)}
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
    """Nine in ten of the secrets that were never planted, and their mean, as measured."""
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


def _colour(methods: list[str]) -> altair.Color:
    import altair

    return altair.Color(
        "method:N",
        scale=altair.Scale(domain=methods, range=[COLOURS[METHODS.index(one)] for one in methods]),
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
    return [points.encode(x=x, y=y, color=_colour(methods), shape=_shape(methods), tooltip=tips)]


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
    interval = known.mark_rule(strokeWidth=2).encode(x=x, y=low, y2="high", color=_colour(methods))
    mean = altair.Chart(altair.InlineData(values=values)).mark_tick(thickness=3, width=22)
    return [interval, mean.encode(x=x, y=y, color=_colour(methods), tooltip=tips)]
