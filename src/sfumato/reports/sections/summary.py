"""Every method at every level: its figures and what is proven about it."""

from __future__ import annotations

import math

from sfumato.charts.numbers import NONE, level_of, number
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.reports.decision import Decision
from sfumato.reports.page import (
    Block,
    Bullets,
    CellValue,
    Heading,
    Quote,
    Section,
    Strong,
    Table,
    fold,
    paragraph,
)
from sfumato.reports.series import Quantity, SeriesPoint
from sfumato.reports.studied import Studied

MethodPlace = tuple[str | None, float | None]


def methods(study: Studied, decision: Decision) -> Section | None:
    """What is proven and what was measured, method by method and level by level."""
    if not study.methods:
        return None
    found = {
        quantity: list(some.values())
        for quantity, some in (
            (decision.leakage, decision.leaked),
            (decision.utility, decision.kept),
        )
        if quantity is not None
    }
    parts = [part for method in study.methods for part in _method(study, method, found)]
    return Section(name="methods", title="Every method at every level", parts=parts)


def _method(study: Studied, method: str, found: dict[Quantity, list[SeriesPoint]]) -> list[Block]:
    proven = study.guarantees(method)
    mine = {one: [point for point in some if point.method == method] for one, some in found.items()}
    places = sorted(
        dict.fromkeys([*proven, *((p.parameter, p.level) for some in mine.values() for p in some)]),
        key=lambda place: (place[0] or "", -math.inf if place[1] is None else place[1]),
    )
    sentence = " ".join(filter(None, (_range(one, some) for one, some in mine.items())))
    parts: list[Block] = [Heading(text=method), paragraph(sentence or "Nothing is measured yet.")]
    parts += _guarantee(proven)
    if places:
        parts.append(_table(method, places, proven, mine))
    return parts


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


def _guarantee(proven: dict[MethodPlace, Guarantee]) -> list[Block]:
    """The guarantee with the smallest epsilon, and the others folded."""
    if not proven:
        return [paragraph("No guarantee is known yet.", kind="quiet")]
    place, first = min(proven.items(), key=lambda item: item[1].epsilon)
    at = level_of(*place)
    said = Strong(f"Proven{f' at {at}' if at else ''}: ")
    parts: list[Block] = [Quote(words=(said, first.sentence()))]
    if len({one.sentence() for one in proven.values()}) > 1:
        others = tuple(
            (Strong(level_of(*where) or "no level"), ": ", one.sentence())
            for where, one in proven.items()
        )
        parts.append(fold("The guarantee at every level", Bullets(items=others)))
    return parts


def _table(
    method: str,
    places: list[MethodPlace],
    proven: dict[MethodPlace, Guarantee],
    mine: dict[Quantity, list[SeriesPoint]],
) -> Table:
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
    return Table(caption=f"{method} at a glance", head=head, rows=rows)


def _epsilon(guarantee: Guarantee) -> str:
    if math.isinf(guarantee.epsilon):
        return "nothing is proven"
    times_distance = "·d" if guarantee.metric else ""
    delta = f" (δ = {at_most(guarantee.delta)})" if guarantee.delta else ""
    # Four digits, rounded up; the sentence of the guarantee has all digits.
    return f"{at_most(guarantee.epsilon, 4)}{times_distance} per {guarantee.unit}{delta}"
