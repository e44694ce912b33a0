"""The figures of an attack with their intervals, each beside chance and beside the control."""

from __future__ import annotations

from typing import Any

from sfumato.charts.chart import COLORS, FAINT_INK, INK, WIDTH, Chart
from sfumato.core.errors import InvalidArgument
from sfumato.results.measured import Measured
from sfumato.results.scores import Scores

TARGET, CONTROL = "target", "null control"
ROW = 34


def figures_chart(scores: Scores, *, title: str, of: str) -> Chart:
    """A row for each figure between 0 and 1: value and interval, the control, a tick at chance."""
    import altair

    sides = ((TARGET, scores.figures), (CONTROL, scores.control.figures))
    rows = [_row(one, series) for series, some in sides for one in some if 0 <= one.value <= 1]
    if not rows:
        raise InvalidArgument("a chart of figures needs at least one figure")
    names = list(dict.fromkeys(str(one["figure"]) for one in rows))
    chance = [{"figure": one, "value": scores.chance[one]} for one in names if one in scores.chance]
    scale = altair.Scale(domain=[0, 1])
    x = altair.X("value:Q", scale=scale, title=f"share of {of}")
    y = altair.Y("figure:N", sort=names, title=None, axis=altair.Axis(labelLimit=240))
    offset = altair.YOffset("series:N", sort=[TARGET, CONTROL])
    domain = [TARGET, CONTROL]
    color = altair.Color(
        "series:N",
        scale=altair.Scale(domain=domain, range=[COLORS[0], FAINT_INK]),
        legend=altair.Legend(orient="bottom", title=None),
    )
    shape = altair.Shape(
        "series:N", scale=altair.Scale(domain=domain, range=["circle", "diamond"]), legend=None
    )
    data = altair.Chart(altair.InlineData(values=rows))
    layers = [
        altair.Chart(altair.InlineData(values=chance))
        .mark_tick(color=INK, thickness=2, size=ROW * 0.8)
        .encode(x=x, y=y),
        data.mark_rule(strokeWidth=2).encode(
            x=altair.X("low:Q", scale=scale), x2="high:Q", y=y, yOffset=offset, color=color
        ),
        data.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, y=y, yOffset=offset, color=color, shape=shape,
            tooltip=["figure:N", "series:N", "value:Q", "low:Q", "high:Q"],
        ),
    ]  # fmt: skip
    said = altair.TitleParams(
        text=title, subtitle="with 95 % intervals; the upright tick is chance"
    )
    drawing = altair.LayerChart(layer=layers)
    return Chart.of(drawing.properties(width=WIDTH, height=ROW * len(names), title=said))


def _row(one: Measured, series: str) -> dict[str, Any]:
    low = one.value if one.low is None else one.low
    high = one.value if one.high is None else one.high
    return {"figure": one.metric, "series": series, "value": one.value, "low": low, "high": high}
