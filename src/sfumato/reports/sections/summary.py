"""The summary: for every method a sentence, its figures and its guarantee."""

from __future__ import annotations

import math

from sfumato.charts.numbers import NONE, level_of, number
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.reports.markup import CellValue, Html, Table, fold_table, tag
from sfumato.reports.page import Section, paragraph
from sfumato.reports.series import Quantity, SeriesPoint, ends, headline, points, whole
from sfumato.reports.studied import Studied
from sfumato.results.row import LEAKAGE, UTILITY

_WAYS = {"lower": "less is better", "higher": "more is better"}
MethodPlace = tuple[str | None, float | None]


def summary(study: Studied) -> Section:
    """A box for each method."""
    rows = whole(study.rows)
    first = [headline(rows, role, study.on_models) for role in (LEAKAGE, UTILITY)]
    shown = [one for one in first if one is not None]
    found = {one: points(rows, one) for one in shown}
    parts = [paragraph(_show(found))] if found else []
    if not study.methods:
        parts.append(paragraph("The grid of this study holds no method."))
    return Section(
        name="summary",
        title="Summary",
        parts=[*parts, *(_method(study, method, found) for method in study.methods)],
    )


def _show(found: dict[Quantity, list[SeriesPoint]]) -> str:
    said = []
    for one, some in found.items():
        beside = "".join(f"; {name}: {number(value)}" for name, value in ends(some))
        said.append(f"{one.role} is {one.said} ({_WAYS[one.better]}{beside})")
    chosen = (
        "These figures were chosen after they were measured: among those that cover most methods "
        "and levels, figures of models come before figures of texts; among an attack's figures, "
        "the one that best separates no privacy from random output is taken. All others are below."
    )
    return f"In this summary {', and '.join(said)}. {chosen}"


def _method(study: Studied, method: str, found: dict[Quantity, list[SeriesPoint]]) -> Html:
    proven = study.guarantees(method)
    mine = {one: [point for point in some if point.method == method] for one, some in found.items()}
    places = sorted(
        dict.fromkeys([*proven, *((p.parameter, p.level) for some in mine.values() for p in some)]),
        key=lambda place: (place[0] or "", -math.inf if place[1] is None else place[1]),
    )
    sentence = " ".join(filter(None, (_range(one, some) for one, some in mine.items())))
    parts = [tag("h3", {}, method), paragraph(sentence or _waiting(study, method))]
    parts += _guarantee(proven)
    if places:
        parts.append(_table(method, places, proven, mine))
    return tag("div", {"class": "method"}, *parts)


def _range(quantity: Quantity, some: list[SeriesPoint]) -> str:
    if not some:
        return ""
    ordered = sorted(some, key=lambda point: -math.inf if point.level is None else point.level)
    first, last = ordered[0], ordered[-1]
    said = f"{quantity.metric} {number(first.value)}"
    at = level_of(first.parameter, first.level)
    if first is last:
        return f"{quantity.role.capitalize()}: {said}{f' at {at}' if at else ''}."
    until = level_of(last.parameter, last.level)
    return f"{quantity.role.capitalize()}: {said} at {at}, {number(last.value)} at {until}."


def _waiting(study: Studied, method: str) -> str:
    of = [cell for cell in study.cells if cell.method == method]
    failed = sum(cell.state == "failed" for cell in of)
    return (
        f"Nothing is measured yet: of {len(of):,} computations {failed:,} failed and "
        f"{sum(cell.state == 'missing' for cell in of):,} are missing."
    )


def _guarantee(proven: dict[MethodPlace, Guarantee]) -> list[Html]:
    """The guarantee with the smallest epsilon, and the others folded."""
    if not proven:
        return [paragraph("No guarantee is known yet.", kind="quiet")]
    place, first = min(proven.items(), key=lambda item: item[1].epsilon)
    at = level_of(*place)
    said = [tag("strong", {}, f"Proven{f' at {at}' if at else ''}: "), first.sentence()]
    parts = [tag("blockquote", {}, tag("p", {}, *said))]
    if len({one.sentence() for one in proven.values()}) > 1:
        others = [
            tag("li", {}, tag("strong", {}, level_of(*where) or "no level"), ": ", one.sentence())
            for where, one in proven.items()
        ]
        parts.append(fold_table("The guarantee at every level", tag("ul", {}, *others)))
    return parts


def _table(
    method: str,
    places: list[MethodPlace],
    proven: dict[MethodPlace, Guarantee],
    mine: dict[Quantity, list[SeriesPoint]],
) -> Html:
    rows: list[list[CellValue]] = []
    for place in places:
        guarantee = proven.get(place)
        row: list[CellValue] = [level_of(*place) or "no level"]
        row += [guarantee.notion.value, _epsilon(guarantee)] if guarantee else [NONE, NONE]
        for some in mine.values():
            here = [point for point in some if (point.parameter, point.level) == place]
            row.append(here[0].value if here else None)
        rows.append(row)
    head = ["level", "notion of privacy", "proven ε (δ)", *(one.said for one in mine)]
    return Table(caption=f"{method} at a glance", head=head, rows=rows).html()


def _epsilon(guarantee: Guarantee) -> str:
    if math.isinf(guarantee.epsilon):
        return "nothing is proven"
    times_distance = "·d" if guarantee.metric else ""
    delta = f" (δ = {at_most(guarantee.delta)})" if guarantee.delta else ""
    # Four digits, rounded up; the sentence of the guarantee has all digits.
    return f"{at_most(guarantee.epsilon, 4)}{times_distance} per {guarantee.unit}{delta}"
