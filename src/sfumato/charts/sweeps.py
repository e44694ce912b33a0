"""What the charts of a calibration share: figures, the look of methods, scales."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.charts.chart import COLORS

if TYPE_CHECKING:
    import altair

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
NO_PRIVACY, RANDOM_OUTPUT = "no privacy", "random output"
# Utility (perplexity) of at least 1 that differs by this factor has a logarithmic axis: random
# output may be thousands of times worse than the rest.
FAR = 5


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A figure with its interval, if there is one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A method at one level; ``fitted`` is the monotone curve there, None if it is unfit."""

    method: str
    parameter: str
    level: float
    leakage: Spot | None
    utility: Spot | None
    fitted: float | None = None


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """An anchor, or a method without a parameter: one point."""

    name: str
    leakage: Spot | None
    utility: Spot | None


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What the axes are called, and the targets that are marked on the axis of leakage."""

    leakage: str
    utility: str | None
    targets: tuple[float, ...] = ()
    subtitle: str = "measured with one attack, not a guarantee"


def looks(methods: list[str]) -> tuple[altair.Color, altair.Shape]:
    """Colors and shapes of points: what a color says, a shape says too."""
    import altair

    legend = altair.Legend(orient="bottom", title=None, columns=4)

    def taken(looks: Sequence[Any]) -> altair.Scale:
        many = [looks[place % len(looks)] for place in range(len(methods))]
        return altair.Scale(domain=methods, range=many)

    return (
        altair.Color("method:N", scale=taken(COLORS), legend=legend),
        altair.Shape("method:N", scale=taken(SHAPES), legend=legend),
    )


def add_dashes(
    rows: Sequence[dict[str, Any]], methods: list[str], *, opacity: float = 1.0
) -> Iterator[altair.Chart]:
    """A line for each method, with a dash of its own.

    The dash is not an encoding channel: shapes in the legend would be dashed too.
    """
    import altair

    for place, method in enumerate(methods):
        own = [row for row in rows if row["method"] == method]
        if own:
            dash = DASHES[place % len(DASHES)]
            yield altair.Chart(altair.InlineData(values=own)).mark_line(
                strokeDash=dash, strokeWidth=2, opacity=opacity
            )


def figure_scale(
    spots: Iterable[Spot | None], more: Iterable[float] = (), *, may_be_logarithmic: bool = False
) -> altair.Scale:
    """A scale with room for every figure and its interval."""
    import altair

    given = [one for one in spots if one is not None]
    values = [*(one.value for one in given), *more]
    logarithmic = may_be_logarithmic and min(values) >= 1 and max(values) >= FAR * min(values)
    ends = [end for one in given for end in (one.low, one.high) if end is not None]
    # An interval may reach below zero, which a logarithmic axis does not have.
    values += [end for end in ends if end >= 1 or not logarithmic]
    low, high = min(values), max(values)
    if logarithmic:
        return altair.Scale(type="log", domain=[low / 1.3, high * 1.3], nice=False, clamp=True)
    margin = 0.08 * ((high - low) or abs(high) or 1.0)
    return altair.Scale(domain=[low - margin, high + margin], nice=False)


def say_figure(level: float) -> str:
    """A level for people."""
    return "∞" if math.isinf(level) else f"{level:g}"


def tips(*fields: tuple[str, str]) -> list[altair.Tooltip]:
    """Tooltips: fields with their titles."""
    import altair

    return [
        altair.Tooltip(field, title=title, format=".4~g")
        if field.endswith(":Q")
        else altair.Tooltip(field, title=title)
        for field, title in fields
    ]
