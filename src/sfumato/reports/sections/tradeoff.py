"""What privacy costs: leakage and utility against the parameter, and against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.calibration.equal_leakage import calibrate_methods
from sfumato.calibration.permission import basis
from sfumato.calibration.select import select_rows
from sfumato.charts.multiples import NO_LEVEL, Multiples, multiples_picture
from sfumato.charts.numbers import interval
from sfumato.charts.overview import Axis
from sfumato.charts.sweeps import Anchor, Spot, Sweep
from sfumato.reports.page import (
    Block,
    CellValue,
    Figure,
    Section,
    Table,
    bullets,
    paragraph,
)
from sfumato.reports.series import Quantity, SeriesPoint, points, telling, whole
from sfumato.reports.studied import Studied
from sfumato.results.row import ANCHORS, LEAKAGE, UTILITY, Row

# At most so many attacks are drawn; the table of all figures has the others.
MOST_DRAWN = 5

QuantityPlace = tuple[str, str | None, float | None]


def tradeoff(study: Studied) -> Section | None:
    """For each attack its first figure, against the utility that was measured on the same."""
    leaking, using = leaking_and_using(study)
    parts: list[Block] = []
    attacked = sorted(telling(leaking), key=lambda one: one.by not in study.on_models)
    for leakage in attacked[:MOST_DRAWN]:
        parts += _figure(study, leaking, leakage, using)
    if not parts:
        return None
    said = paragraph(
        "Privacy is a trade-off: a method that protects more keeps less. Every method lies between "
        "two anchors, 'no privacy' and 'random output'. Equal levels of different methods are not "
        "equal privacy. What can be compared is their utility at equal leakage, as in the first "
        "figure. Leakage is what one attack found; a stronger one may find more. For each attack "
        "the figure that best separates the two anchors is shown. It was chosen after it was "
        "measured, and the intervals do not account for that. All figures are below."
    )
    return Section(
        name="tradeoff",
        title="Utility against leakage",
        parts=[said, *parts],
    )


def leaking_and_using(study: Studied) -> tuple[list[Row], list[Row]]:
    """The figures of leakage and of utility over all documents.

    Those of audits are not among them: they have a section of their own, with the claims.
    """
    rows = [row for row in whole(study.rows) if row.value is not None and math.isfinite(row.value)]
    leaking = [row for row in rows if row.role == LEAKAGE and row.by != "audit"]
    return leaking, [row for row in rows if row.role == UTILITY]


def places(rows: Sequence[Row], quantity: Quantity) -> dict[QuantityPlace, SeriesPoint]:
    """The points of a quantity by method, parameter and level."""
    return {(point.method, point.parameter, point.level): point for point in points(rows, quantity)}


def matching_utility(
    study: Studied,
    leakage: Quantity,
    found: dict[QuantityPlace, SeriesPoint],
    using: Sequence[Row],
) -> tuple[Quantity | None, dict[QuantityPlace, SeriesPoint]]:
    """The utility that was measured on most of the texts or models that were attacked."""
    candidates = [(one, places(using, one)) for one in telling(using)]
    on_model = leakage.by in study.on_models
    utility, kept = max(
        candidates,
        key=lambda one: (
            len(found.keys() & one[1].keys()),
            (one[0].by in study.on_models) == on_model,
        ),
        default=(None, {}),
    )
    if utility is None or not found.keys() & kept.keys():
        return None, {}
    return utility, kept


def _figure(
    study: Studied, leaking: Sequence[Row], leakage: Quantity, using: Sequence[Row]
) -> list[Block]:
    found = places(leaking, leakage)
    utility, kept = matching_utility(study, leakage, found, using)
    curves, verdicts = _curves([*leaking, *using], leakage, utility) if study.public else ({}, [])
    sweeps, anchors = _drawable(found, kept, curves)
    if not sweeps:
        return []
    shown = Multiples(
        leakage=Axis(title=f"leaks more: {leakage.said}", better=leakage.better),
        utility=None
        if utility is None
        else Axis(
            title=f"more useful: {utility.said}; {utility.better} is better", better=utility.better
        ),
        sweeps=sweeps,
        ends=anchors,
        notes=_notions(study),
    )
    against = "" if utility is None else f" Utility is {utility.said}; {utility.better} is better."
    curve = " Lines of leakage are monotone curves through the figures." if curves else ""
    figure = Figure(
        title=f"Every method by {leakage.said}.",
        description=f"Leakage is {leakage.said}; {leakage.better} is better.{against} All panels "
        "of a row have the same scale; dashed lines are the two anchors between which every method "
        f"lies. Each method has levels of its own.{curve}",
        table=_table(leakage, utility, found, kept),
        picture=multiples_picture(shown),
    )
    if not verdicts:
        return [figure]
    said = paragraph(f"Does {leakage.said} follow the level, so that it can calibrate methods?")
    return [figure, said, bullets(verdicts)]


def _curves(
    rows: Sequence[Row], leakage: Quantity, utility: Quantity | None
) -> tuple[dict[QuantityPlace, float], list[str]]:
    """Monotone curves of leakage, and whether each method's figures are fit for one.

    Only if the corpus is public, because a verdict can guide the choice of a level.
    """
    selected = select_rows(
        rows,
        attack=leakage.by,
        metric=leakage.metric,
        utility=None if utility is None else utility.metric,
    )
    found = calibrate_methods(selected, (), basis=basis(public=True))
    curves: dict[QuantityPlace, float] = {
        (method.name, method.parameter, level): fitted
        for method in found.methods
        if method.fit is not None
        for level, fitted in zip(method.leakage.levels, method.fit, strict=True)
    }
    return curves, [
        f"{one.name}: {one.fitness.verdict} ({one.fitness.why})." for one in found.methods
    ]


def _notions(study: Studied) -> dict[str, str]:
    """Which notion the levels of each method are of, where they differ."""
    notions = {
        method: next((one.notion.value for one in study.guarantees(method).values()), "")
        for method in study.methods
    }
    if len(set(notions.values())) < 2:
        return {}
    return {method: notion.replace("differential privacy", "DP") for method, notion in
            notions.items()}  # fmt: skip


def _drawable(
    found: dict[QuantityPlace, SeriesPoint],
    kept: dict[QuantityPlace, SeriesPoint],
    curves: dict[QuantityPlace, float],
) -> tuple[list[Sweep], list[Anchor]]:
    sweeps, anchors = [], []
    for place in dict.fromkeys([*found, *(one for one in kept if one[0] in _methods(found))]):
        method, parameter, level = place
        leakage, utility = spot_of(found.get(place)), spot_of(kept.get(place))
        if level is None and method in ANCHORS:
            anchors.append(Anchor(name=method, leakage=leakage, utility=utility))
        else:
            named = NO_LEVEL if level is None else parameter or "level"
            sweeps.append(
                Sweep(
                    method=method,
                    parameter=named,
                    level=0.0 if level is None else level,
                    leakage=leakage,
                    utility=utility,
                    fitted=None if level is None else curves.get((method, named, level)),
                )
            )
    return sweeps, anchors


def _methods(found: dict[QuantityPlace, SeriesPoint]) -> set[str]:
    return {place[0] for place in found} | set(ANCHORS)


def spot_of(point: SeriesPoint | None) -> Spot | None:
    """A point as charts draw it; an end that is not finite is not drawn."""
    if point is None:
        return None
    return Spot(value=point.value, low=_finite(point.low), high=_finite(point.high))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _table(
    leakage: Quantity,
    utility: Quantity | None,
    found: dict[QuantityPlace, SeriesPoint],
    kept: dict[QuantityPlace, SeriesPoint],
) -> Table:
    rows: list[list[CellValue]] = []
    for place, point in found.items():
        row: list[CellValue] = [
            point.said,
            point.value,
            interval(point.low, point.high),
            point.chance,
        ]
        if utility is not None:
            use = kept.get(place)
            row += [use.value, interval(use.low, use.high)] if use else [None, "–"]
        rows.append([*row, point.seeds])
    head = ["method", leakage.said, "95 % interval", "by chance"]
    if utility is not None:
        head += [utility.said, "its 95 % interval"]
    return Table(caption="Leakage and utility, means over seeds", head=[*head, "seeds"], rows=rows)
