"""Who is recognized as a member: ROC curves of the same signal against every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.charts.roc import roc_chart
from sfumato.reports.markup import Table
from sfumato.reports.numbers import as_number, interval
from sfumato.reports.parts import Figure, Section, draw_figure, paragraph
from sfumato.reports.studied import Studied, describe_method
from sfumato.results.row import ANCHORS
from sfumato.studies.folder import CellRecord

# More curves could not be told apart.
MOST_CURVES = 14

RocCurve = Sequence[Sequence[float]]


def recognition(study: Studied) -> Section | None:
    """The curves of the signal that does best anywhere, and the areas of all."""
    found = [(cell, scores) for cell, scores in study.attacks("membership") if _curves(scores)]
    if not found:
        return None
    areas = {
        (cell.key, name): _figure(scores, name)
        for cell, scores in found
        for name in _curves(scores)
    }
    best = max(areas, key=lambda key: _value(areas[key]))[1]
    first = min(cell.seed for cell, _ in found)
    drawable = [
        (cell, _curves(scores)[best])
        for cell, scores in found
        if cell.seed == first and best in _curves(scores)
    ]
    chosen = _some(drawable)
    curves = {describe_method(cell): curve for cell, curve in chosen}
    legend = {describe_method(cell): _value(areas[cell.key, best]) for cell, _ in chosen}
    rows = [
        (
            describe_method(cell),
            name,
            cell.seed,
            _value(area),
            interval(*_ends(area)),
            int(area.get("n", 0)),
        )
        for cell, scores in found
        for name in _curves(scores)
        for area in (areas[cell.key, name],)
    ]
    left_out = (
        ""
        if len(chosen) == len(drawable)
        else (
            f" Of {len(drawable)} curves {len(chosen)} are drawn: of each method the first and the "
            "last level."
        )
    )
    return Section(
        name="recognition",
        title="Who is recognized as a member",
        parts=[
            paragraph(
                "An attacker who holds some texts wants to know which of them were used. The curve "
                "says which share of them is found at each share of false alarms; the left end "
                "matters, where the attacker is sure. Whatever lies on the dotted line is chance."
            ),
            Figure(
                title="Hits against false alarms.",
                description=f"The signal is '{best}', chosen because it does best somewhere here"
                f"; seed {first}.{left_out}",
                table=Table(
                    caption="Area under the curve of every signal; 0.5 is chance",
                    head=("method", "signal", "seed", "AUC", "95 % interval", "texts"),
                    rows=rows,
                ),
                chart=draw_figure(lambda: roc_chart(curves, legend)),
            ),
        ],
    )


def _curves(scores: Mapping[str, Any]) -> Mapping[str, RocCurve]:
    details = scores.get("details")
    curves = details.get("roc") if isinstance(details, dict) else None
    if not isinstance(curves, dict):
        return {}
    return {name: curve for name, curve in curves.items() if _figure(scores, name) and curve}


def _figure(scores: Mapping[str, Any], signal: str) -> Mapping[str, Any]:
    return next((one for one in scores["figures"] if one["metric"] == f"auc {signal}"), {})


def _value(figure: Mapping[str, Any]) -> float:
    found = as_number(figure.get("value"))
    return 0.0 if found is None else found


def _ends(figure: Mapping[str, Any]) -> tuple[float | None, float | None]:
    return as_number(figure.get("low")), as_number(figure.get("high"))


def _some(found: list[tuple[CellRecord, RocCurve]]) -> list[tuple[CellRecord, RocCurve]]:
    """All, or of each method its ends, as far as curves can be told apart."""
    if len(found) <= MOST_CURVES:
        return found
    by_method: dict[str, list[tuple[CellRecord, RocCurve]]] = {}
    for cell, curve in found:
        by_method.setdefault(cell.method, []).append((cell, curve))
    ordered = sorted(by_method.values(), key=lambda some: some[0][0].method not in ANCHORS)
    ends = []
    for some in ordered:
        some.sort(key=lambda one: one[0].level or 0.0)
        ends += [some[0]] if len(some) == 1 else [some[0], some[-1]]
    return ends[:MOST_CURVES]
