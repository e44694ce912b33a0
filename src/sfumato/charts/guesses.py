"""How many words an attacker has after so many guesses, beside chance and the null control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.charts.chart import COLORS, FAINT_INK, HEIGHT, WIDTH, Chart
from sfumato.core.errors import InvalidArgument

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
