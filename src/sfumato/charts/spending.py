"""What an account has spent over time, against its limit.

The step line is all that is charged; the part of it that work in progress holds is a band of its
own at the top. Nothing but times and amounts is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sfumato.accounting.budget.accounts import Account, Measure
from sfumato.accounting.budget.amounts import LARGEST
from sfumato.accounting.budget.charges import Charge
from sfumato.charts.chart import COLORS, FAINT_INK, HEIGHT, INK, Chart
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    import altair

WIDTH = 620
# More steps than this are drawn as so many: nobody can see more of them.
MOST_STEPS = 400
SPENT, HELD = "spent", "held by work in progress"
_SPENT_COLOR, _HELD_COLOR = COLORS[0], COLORS[1]
_TIMES = (
    (timedelta(days=500), "%b %Y"),
    (timedelta(days=3), "%d %b %Y"),
    (timedelta(hours=3), "%d %b %H:%M"),
    (timedelta(minutes=5), "%H:%M"),
)
_ZERO = "datum.value ? datum.label : '0'"
_SYMBOLS = {Measure.RHO: "ρ", Measure.RENYI: "divergence"}


def spending_chart(account: Account, charges: Sequence[Charge], until: str) -> Chart:
    """A panel for levels, and one for deltas where these have a limit; ``until`` is now."""
    import altair

    if not charges:
        raise InvalidArgument("nothing is charged to this account yet, so there is nothing to draw")
    most = account.limit.most
    symbol = _SYMBOLS.get(account.limit.measure, "ε")
    amounts = [(one.at, one.amount.level, one.held) for one in charges]
    limit = None if most.units == LARGEST else most.level
    panels = [_panel(_steps(account.opened, amounts, until), f"{symbol} used", limit, ",.6~g")]
    if most.delta:
        deltas = [(one.at, one.amount.probability, one.held) for one in charges]
        steps = _steps(account.opened, deltas, until)
        panels.append(_panel(steps, "δ used", most.probability, ".3~e"))
    title = altair.TitleParams(
        text="Privacy budget over time", subtitle=_said(account, len(charges)), offset=14
    )
    return Chart.of(altair.vconcat(*panels, spacing=28).properties(title=title))


def _said(account: Account, charges: int) -> str:
    used, most = account.spent, account.limit.most
    share = "" if most.units == LARGEST else f" of {most.level:,g}"
    held = f", of which {account.held.level:,g} is held" if account.held.units else ""
    closed = "; closed" if account.closed else ""
    noun = "charge" if charges == 1 else "charges"
    return f"{used.level:,g}{share} used in {charges:,} {noun}{held}{closed}"


def _steps(
    opened: str, amounts: Sequence[tuple[str, float, bool]], until: str
) -> list[dict[str, Any]]:
    """The sums after each charge: of what is spent, and of what is held on top of it."""
    steps: list[dict[str, Any]] = [{"at": opened, "spent": 0.0, "all": 0.0}]
    spent = every = 0.0
    for at, amount, held in amounts:
        every += amount
        spent += 0.0 if held else amount
        steps.append({"at": at, "spent": spent, "all": every})
    if len(steps) > MOST_STEPS:
        last = len(steps) - 1
        steps = [steps[round(place * last / MOST_STEPS)] for place in range(MOST_STEPS + 1)]
    # What is used stays used, until now.
    return [*steps, {**steps[-1], "at": max(until, steps[-1]["at"])}]


def _panel(
    steps: Sequence[dict[str, Any]], title: str, limit: float | None, numbers: str
) -> altair.LayerChart:
    import altair

    times = _time_format(steps)
    top = max(float(steps[-1]["all"]), limit or 0.0)
    holds = any(step["all"] > step["spent"] for step in steps)
    x = altair.X(
        "at:T",
        scale=altair.Scale(type="utc", nice=False),
        axis=altair.Axis(grid=False, tickCount=6, format=times),
        title="time (UTC)" if "%d" in times or "%Y" in times else _day(steps),
    )
    scale = altair.Scale(domain=[0, 1.12 * top], nice=False)
    names, colors = [SPENT, HELD][: 1 + holds], [_SPENT_COLOR, _HELD_COLOR][: 1 + holds]
    color = altair.Color(
        "series:N",
        scale=altair.Scale(domain=names, range=colors),
        legend=altair.Legend(orient="bottom", title=None, symbolType="square", symbolOpacity=0.6)
        if holds
        else None,
    )
    drawn = altair.Chart(altair.InlineData(values=list(steps))).encode(x=x)

    height = altair.Y(
        "spent:Q", scale=scale, title=title, axis=altair.Axis(format=numbers, labelExpr=_ZERO)
    )
    layers: list[Any] = [
        drawn.transform_calculate(series=f"'{SPENT}'", zero="0")
        .mark_area(interpolate="step-after", opacity=0.18)
        .encode(y=height, y2="zero:Q", color=color)
    ]
    if holds:
        band = drawn.transform_calculate(series=f"'{HELD}'")
        band = band.mark_area(interpolate="step-after", opacity=0.35)
        layers.append(
            band.encode(y=altair.Y("all:Q", scale=scale, title=title), y2="spent:Q", color=color)
        )
    tips = [
        altair.Tooltip("at:T", title="time (UTC)", format="%Y-%m-%d %H:%M:%S"),
        altair.Tooltip("all:Q", title=title, format=".6~g"),
    ]
    line = drawn.mark_line(interpolate="step-after", color=_SPENT_COLOR)
    layers.append(line.encode(y=altair.Y("all:Q", scale=scale, title=title), tooltip=tips))
    if limit is not None:
        layers += _limit(limit, scale, title)
    return altair.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT)


def _time_format(steps: Sequence[dict[str, Any]]) -> str:
    """As much of a date as the ends of the axis need to be told apart."""
    first, last = (datetime.fromisoformat(steps[place]["at"]) for place in (0, -1))
    lasted = last - first
    for least, told in _TIMES:
        if lasted >= least:
            return told
    return "%H:%M:%S"


def _day(steps: Sequence[dict[str, Any]]) -> str:
    first = datetime.fromisoformat(steps[0]["at"])
    return f"time (UTC), from {first:%d %b %Y} on"


def _limit(limit: float, scale: altair.Scale, title: str) -> list[altair.Chart]:
    import altair

    said = [{"limit": limit, "said": f"limit {limit:.6g}"}]
    place = altair.Chart(altair.InlineData(values=said)).encode(
        y=altair.Y("limit:Q", scale=scale, title=title)
    )
    rule = place.mark_rule(strokeDash=[6, 4], color=INK, strokeWidth=1.5)
    text = place.mark_text(align="left", baseline="bottom", dx=4, dy=-4, color=FAINT_INK)
    return [rule, text.encode(text="said:N", x=altair.value(0))]
