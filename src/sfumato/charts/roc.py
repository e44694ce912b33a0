"""Hits against false alarms on logarithmic axes: what an attack finds when it must be sure.

On straight axes an attack that is right about a few members beyond doubt looks like chance. The
diagonal is chance; a curve begins at the smallest rate that so many texts can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

from sfumato.charts.chart import COLORS, FAINT_INK, WIDTH, Chart
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import altair

# Dashes tell curves apart that share a color, or where colors cannot be seen.
DASHES = ([1, 0], [6, 3], [2, 2])
CHANCE = "chance"

RocPoints = Sequence[Sequence[float]]


def roc_chart(curves: Mapping[str, RocPoints], areas: Mapping[str, float]) -> Chart:
    """One curve for each name, with its area under the curve in the legend."""
    import altair

    if not curves:
        raise InvalidArgument("a ROC chart needs at least one curve")
    smallest = _smallest(curves)
    names = [f"{name} (AUC {areas[name]:.3f})" for name in curves]
    rows: list[dict[str, Any]] = []
    for name, points in zip(names, curves.values(), strict=True):
        rows += _drawable(name, points, smallest)
    ends = [smallest, 1.0]
    diagonal = altair.Chart(
        altair.InlineData(values=[{"fpr": one, "tpr": one} for one in ends])
    ).mark_line(strokeDash=[2, 3], strokeWidth=1.5, color=FAINT_INK)
    lines = altair.Chart(altair.InlineData(values=rows)).mark_line(interpolate="step-after")
    axes = {
        "x": _axis(altair.X, "fpr", "false alarms (others taken for members)", ends),
        "y": _axis(altair.Y, "tpr", "hits (members found)", ends),
    }
    drawn = lines.encode(
        color=altair.Color("signal:N", scale=_colors(names), legend=_legend()),
        strokeDash=altair.StrokeDash("signal:N", scale=_dashes(names), legend=_legend()),
        order="place:Q",
        tooltip=["signal:N", "fpr:Q", "tpr:Q"],
        **axes,
    )
    title = altair.TitleParams(
        text="Who is recognized as a member",
        subtitle="logarithmic axes; the dotted line is chance",
    )
    layers = altair.LayerChart(layer=[diagonal.encode(**axes), drawn])
    return Chart.of(layers.properties(title=title, width=WIDTH, height=WIDTH))


def _smallest(curves: Mapping[str, RocPoints]) -> float:
    """The power of ten below the smallest rate in any curve."""
    rates = [rate for points in curves.values() for point in points for rate in point if rate > 0]
    return float(10.0 ** floor(log10(min(rates, default=0.1)) - 1e-9))


def _drawable(name: str, points: RocPoints, smallest: float) -> list[dict[str, Any]]:
    """A logarithm has no zero: what is never wrong stands at the edge."""
    return [
        {
            "signal": name,
            "fpr": max(float(fpr), smallest),
            "tpr": max(float(tpr), smallest),
            "place": place,
        }
        for place, (fpr, tpr) in enumerate(points)
    ]


def _axis(channel: Any, field: str, title: str, ends: list[float]) -> Any:
    import altair

    powers = [10.0**power for power in range(round(log10(ends[0])), 1)]
    scale = altair.Scale(type="log", domain=ends)
    return channel(
        f"{field}:Q", scale=scale, axis=altair.Axis(values=powers, format="~g"), title=title
    )


def _colors(names: Sequence[str]) -> altair.Scale:
    import altair

    return altair.Scale(
        domain=list(names), range=[COLORS[place % len(COLORS)] for place in range(len(names))]
    )


def _dashes(names: Sequence[str]) -> altair.Scale:
    import altair

    dashes = [DASHES[place // len(COLORS) % len(DASHES)] for place in range(len(names))]
    return altair.Scale(domain=list(names), range=dashes)


def _legend() -> altair.Legend:
    import altair

    return altair.Legend(title=None, orient="right")
