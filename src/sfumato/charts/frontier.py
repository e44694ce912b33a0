"""Utility against leakage: each method is a path from its strong end to its weak one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.charts.sweeps import (
    NO_PRIVACY,
    RANDOM_OUTPUT,
    Anchor,
    Labels,
    Spot,
    Sweep,
    dashed,
    figure_scale,
    looks,
    said,
    tips,
)
from sfumato.charts.theme import FAINT_INK, HEIGHT, INK, WIDTH

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
    colour, shape = looks(methods)
    rows = [_pair(one) for one in both]
    told = tips(
        ("method:N", "method"),
        ("said:N", "level"),
        ("leakage:Q", labels.leakage),
        ("utility:Q", str(labels.utility)),
    )
    data = altair.Chart(altair.InlineData(values=rows))
    paths = [
        drawn.encode(x=x, y=y, color=colour, order="order:Q", detail="parameter:N")
        for drawn in dashed(rows, methods, opacity=0.7)
    ]
    points = data.mark_point(size=70, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=told
    )
    targets = altair.Chart(
        altair.InlineData(values=[{"leakage": target} for target in labels.targets])
    ).mark_rule(color=FAINT_INK, strokeWidth=0.75)
    layers = [targets.encode(x=x)] if labels.targets else []
    layers += [*paths, points, *_anchor_points(ends, x, y, labels)]
    return altair.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT)


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
        "said": f"{one.parameter} = {said(one.level)}",
        "leakage": _spot(one.leakage),
        "utility": _spot(one.utility),
        "order": min(one.level, 1e300),  # JSON has no infinity
    }


def _spot(spot: Spot | None) -> float | None:
    return None if spot is None else spot.value
