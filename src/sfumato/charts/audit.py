"""Measured epsilon against the claimed one: a point above the diagonal exceeds its claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.charts.chart import COLORS, FAINT_INK, HEIGHT, WIDTH, Chart, needs_charts
from sfumato.guarantees.wording import at_most

NAMES = {
    "one_run": "one run (assumes nothing)",
    "two_run": "as if each document had its own run",
    "gaussian": "the same, and a Gaussian trade-off",
}

NO_CLAIM = "claims nothing"


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """One bound of one run; ``claimed`` is None or infinite without a guarantee."""

    run: str
    claimed: float | None
    bound: str
    measured: float


def audit_chart(rows: Sequence[AuditRow]) -> Chart:
    """A point for each bound of each run, and the diagonal."""
    needs_charts()
    import altair

    finite = [row.claimed for row in rows if row.claimed is not None and math.isfinite(row.claimed)]
    most = max([*finite, *(row.measured for row in rows), 1.0])
    # A run without a guarantee is drawn at the right edge, and its tooltip says so.
    edge = most * 1.15
    values = [_value(row, edge) for row in rows]
    highest = max(most, edge) * 1.05
    axis = altair.Scale(domain=[0, highest], nice=False)
    ends: list[dict[str, Any]] = [{"x": place, "y": place} for place in (0, highest)]
    line = (
        altair.Chart(altair.InlineData(values=ends))
        .mark_line(color=FAINT_INK, strokeDash=[5, 4], strokeWidth=1.5)
        .encode(x=altair.X("x:Q", scale=axis), y=altair.Y("y:Q", scale=axis))
    )
    names = list(NAMES.values())
    legend = altair.Legend(orient="bottom", direction="vertical")
    points = (
        altair.Chart(altair.InlineData(values=values))
        .mark_point(size=90, filled=False, strokeWidth=2)
        .encode(
            x=altair.X("claimed:Q", title="claimed ε (proven, at most)", scale=axis),
            y=altair.Y("measured:Q", title="measured ε (at least)", scale=axis),
            color=altair.Color(
                "bound:N",
                title=None,
                scale=altair.Scale(domain=names, range=list(COLORS[: len(names)])),
                legend=legend,
            ),
            shape=altair.Shape(
                "bound:N", title=None, scale=altair.Scale(domain=names), legend=legend
            ),
            tooltip=["run:N", "bound:N", "claim:N", altair.Tooltip("measured:Q", format=".3f")],
        )
    )
    layers = [line, points]
    if any(value["claim"] == NO_CLAIM for value in values):
        layers[:0] = _edge(edge, axis)
    drawing = altair.layer(*layers).properties(
        width=WIDTH,
        height=HEIGHT,
        title=altair.TitleParams(
            "Measured against claimed ε",
            subtitle="above the dashed line a bound that assumes nothing refutes the claim",
        ),
    )
    return Chart.of(drawing)


def _edge(edge: float, axis: Any) -> list[Any]:
    """A separate vertical line for runs that claim nothing."""
    import altair

    place: list[dict[str, Any]] = [{"x": edge, "text": NO_CLAIM}]
    base = altair.Chart(altair.InlineData(values=place)).encode(x=altair.X("x:Q", scale=axis))
    return [
        base.mark_rule(color=FAINT_INK, strokeWidth=1),
        base.mark_text(color=FAINT_INK, align="right", baseline="top", dx=-4, fontSize=11).encode(
            text="text:N", y=altair.value(4)
        ),
    ]


def _value(row: AuditRow, edge: float) -> dict[str, Any]:
    none = row.claimed is None or math.isinf(row.claimed)
    return {
        "run": row.run,
        "bound": NAMES[row.bound],
        "claimed": edge if none else row.claimed,
        "claim": NO_CLAIM if row.claimed is None or none else at_most(row.claimed, 4),
        "measured": row.measured,
    }
