"""How well words are hidden at each level: the chance to stay, and the number of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, log10
from typing import TYPE_CHECKING, Any

from sfumato.charts.chapter import Topic
from sfumato.charts.chart import BAND_OPACITY, COLORS, FAINT_INK, HEIGHT, WIDTH, Chart
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import altair

HIDING = Topic(
    name="hiding",
    title="How well words are hidden",
    lead="A word is hidden if many other words could have given the same output. N is the "
    "probability that a word stays unchanged, S the number of words that it may become. The median "
    "says nothing about the words that are hidden least, so these are drawn separately.",
    order=30,
)

MEDIAN, MIDDLE, WORST = "median word", "middle 80 % of the words", "least protected word"
# The axis of levels is logarithmic from this ratio of the largest to the smallest level on.
WIDE = 8
# Up to so many levels are marked on the axis; more would not be legible.
MARKED = 12


@dataclass(frozen=True, kw_only=True)
class LevelRow:
    """What is drawn at one level: numbers over many words, and no word."""

    epsilon: float
    keep_low: float
    keep_median: float
    keep_high: float
    keep_worst: float
    outputs_worst: float
    outputs_low: float
    outputs_median: float
    outputs_high: float


@dataclass(frozen=True, kw_only=True)
class LevelLabels:
    """What the chart says about itself.

    ``outputs_title`` says whether the counts are exact, ``ceiling`` how far they could go at most
    where they are not, and what that is called.
    """

    title: str
    subtitle: str
    outputs_title: str
    ceiling: tuple[float, str] | None = None


def deniability_chart(rows: Sequence[LevelRow], labels: LevelLabels) -> Chart:
    """Two panels over epsilon: N_w from 0 to 1, and S_w on a logarithmic scale."""
    import altair

    if not rows:
        raise InvalidArgument("a chart needs at least one level")
    ordered = sorted(rows, key=lambda row: row.epsilon)
    data = altair.InlineData(values=[asdict(row) for row in ordered])
    chances = altair.Y(scale=altair.Scale(domain=[0, 1]), title="probability that a word stays (N)")
    most = max(row.outputs_high for row in rows)
    if labels.ceiling:
        most = max(most, labels.ceiling[0])
    counts = _count_axis(most, labels.outputs_title)
    keep = _layers(data, "keep", chances, several=len(rows) > 1)
    outputs = _layers(data, "outputs", counts, several=len(rows) > 1)
    if labels.ceiling:
        outputs += _ceiling(labels.ceiling)
    x = _epsilon_axis([row.epsilon for row in ordered])
    panels = (
        altair.LayerChart(layer=layers).encode(x=x).properties(width=WIDTH, height=HEIGHT)
        for layers in (keep, outputs)
    )
    title = altair.TitleParams(text=labels.title, subtitle=labels.subtitle)
    return Chart.of(altair.hconcat(*panels, spacing=48).properties(title=title))


def _layers(
    data: altair.InlineData, name: str, axis: altair.Y, *, several: bool
) -> list[altair.Chart]:
    import altair

    color = altair.Color(
        "series:N",
        scale=altair.Scale(domain=[MEDIAN, MIDDLE, WORST], range=[COLORS[0], COLORS[5], COLORS[1]]),
        legend=altair.Legend(orient="bottom", title=None, columns=3, symbolOpacity=1),
    )
    tips = [
        altair.Tooltip("epsilon:Q", title="ε"),
        *(
            altair.Tooltip(f"{name}_{field}:Q", title=said, format=",.3~g")
            for field, said in _SAID.items()
        ),
    ]

    def drawn(series: str, field: str) -> altair.Chart:
        height = axis.copy()
        height.shorthand = f"{name}_{field}:Q"
        named = altair.Chart(data).transform_calculate(series=f"'{series}'")
        return named.encode(y=height, color=color, tooltip=tips)

    middle = drawn(MIDDLE, "low").encode(y2=f"{name}_high")
    # An area needs two levels; over a single one it is a bar.
    band = middle.mark_area() if several else middle.mark_rule(strokeWidth=24)
    worst = drawn(WORST, "worst").mark_line(strokeDash=[5, 4], point={"shape": "triangle-up"})
    median = drawn(MEDIAN, "median").mark_line(point={"shape": "circle"})
    return [band.encode(opacity=altair.value(BAND_OPACITY)), worst, median]


def _ceiling(ceiling: tuple[float, str]) -> list[altair.Chart]:
    import altair

    place = altair.Chart(altair.InlineData(values=[{"ceiling": ceiling[0], "said": ceiling[1]}]))
    line = place.mark_rule(strokeDash=[2, 3], color=FAINT_INK).encode(
        y="ceiling:Q", x=altair.value(0), x2=altair.value(WIDTH)
    )
    text = place.mark_text(align="right", baseline="bottom", dx=-2, dy=-4, color=FAINT_INK)
    return [line, text.encode(y="ceiling:Q", text="said:N", x=altair.value(WIDTH))]


_SAID = {"low": "10 % are below", "median": MEDIAN, "high": "90 % are below", "worst": WORST}


def _count_axis(most: float, title: str) -> altair.Y:
    import altair

    powers = [10**power for power in range(max(1, ceil(log10(max(most, 1)))) + 1)]
    scale = altair.Scale(type="log", domain=[powers[0], powers[-1]])
    return altair.Y(scale=scale, axis=altair.Axis(values=powers, format=",d"), title=title)


def _epsilon_axis(levels: list[float]) -> altair.X:
    import altair

    low, high = levels[0], levels[-1]
    if high / low >= WIDE:
        scale = altair.Scale(type="log", domain=[low / 1.15, high * 1.15], nice=False)
    else:
        margin = 0.05 * ((high - low) or high)
        scale = altair.Scale(domain=[low - margin, high + margin], nice=False)
    values: dict[str, Any] = {"values": levels} if len(levels) <= MARKED else {}
    axis = altair.Axis(grid=False, format=".6~r", **values)
    return altair.X("epsilon:Q", scale=scale, axis=axis, title="ε (smaller hides more)")
