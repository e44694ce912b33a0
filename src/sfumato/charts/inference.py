"""Charts of inference attacks: members against false alarms, and words found by guesses.

The ROC chart has logarithmic axes: on linear ones an attack that identifies a few members with
certainty looks like chance. The diagonal is chance; a curve begins at the smallest rate that so
many texts can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

from sfumato.charts.chart import COLORS, FAINT_INK, HEIGHT, WIDTH, Chart
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import altair

# Dashes distinguish curves that share a color.
DASHES = ([1, 0], [6, 3], [2, 2])
CHANCE = "chance"

RocPoints = Sequence[Sequence[float]]


def roc_chart(
    curves: Mapping[str, RocPoints], areas: Mapping[str, float], allowed: RocPoints = ()
) -> Chart:
    """One curve for each name, with its area under the curve in the legend.

    ``allowed`` is the curve that no attack on average exceeds, if one is proven.
    """
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
        subtitle="logarithmic axes; the dotted line is chance"
        + (", the dashed gray one what the level allows" if allowed else ""),
    )
    shown = [one for one in allowed if min(one) >= smallest]
    limit = altair.Chart(
        altair.InlineData(values=[{"fpr": fpr, "tpr": tpr} for fpr, tpr in shown])
    ).mark_line(strokeDash=[8, 3], strokeWidth=1.5, color=FAINT_INK)
    limits = [limit.encode(**axes)] if shown else []
    layers = altair.LayerChart(layer=[diagonal.encode(**axes), *limits, drawn])
    return Chart.of(layers.properties(title=title, width=WIDTH, height=WIDTH))


def _smallest(curves: Mapping[str, RocPoints]) -> float:
    """The power of ten below the smallest rate in any curve."""
    rates = [rate for points in curves.values() for point in points for rate in point if rate > 0]
    return float(10.0 ** floor(log10(min(rates, default=0.1)) - 1e-9))


def _drawable(name: str, points: RocPoints, smallest: float) -> list[dict[str, Any]]:
    """The points of a curve; zeros, which a logarithmic axis lacks, are drawn at the edge."""
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


SERIES = {"share": "attacker", "control": "null control", "chance": "best blind guesses"}


def guesses_chart(points: Sequence[Mapping[str, Any]], *, title: str, subtitle: str) -> Chart:
    """Lines over the number of guesses; each point has ``guesses`` and one share per series."""
    import altair

    if not points:
        raise InvalidArgument("a chart of guesses needs at least one point")
    rows = [
        {"guesses": point["guesses"], "found": point[name], "series": said}
        for point in points
        for name, said in SERIES.items()
    ]
    series = altair.Scale(domain=list(SERIES.values()), range=[COLORS[0], COLORS[1], FAINT_INK])
    dashes = altair.Scale(domain=list(SERIES.values()), range=[[1, 0], [5, 4], [2, 3]])
    marks = altair.Scale(domain=list(SERIES.values()), range=["circle", "triangle-up", "square"])
    legend = altair.Legend(orient="bottom", title=None, columns=3)
    whole = altair.Axis(tickMinStep=1, format="d", grid=False)
    drawing = (
        altair.Chart(altair.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("guesses:Q", axis=whole, title="guesses for each word"),
            y=altair.Y("found:Q", scale=altair.Scale(domain=[0, 1]), title="share of words found"),
            color=altair.Color("series:N", scale=series, legend=legend),
            strokeDash=altair.StrokeDash("series:N", scale=dashes, legend=legend),
            shape=altair.Shape("series:N", scale=marks, legend=legend),
            tooltip=[
                altair.Tooltip("series:N", title="who"),
                altair.Tooltip("guesses:Q"),
                altair.Tooltip("found:Q", format=".3f"),
            ],
        )
        .properties(
            width=WIDTH,
            height=HEIGHT,
            title=altair.TitleParams(text=title, subtitle=subtitle),
        )
    )
    return Chart.of(drawing)
