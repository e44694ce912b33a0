"""Measured against claimed epsilon: what an audit found from below."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.charts.audit import NAMES, AuditRow, audit_chart
from sfumato.charts.numbers import as_number, epsilon_of
from sfumato.reports.markup import CellValue, Html, Table
from sfumato.reports.parts import Figure, Section, draw_figure, paragraph
from sfumato.reports.studied import Studied, describe_method
from sfumato.studies.folder import CellRecord


def claims(study: Studied) -> Section | None:
    """Every bound of every audit, and whether one refutes its claim."""
    found = [(cell, cell.details) for cell in study.done if cell.kind == "audit" and cell.details]
    bounds = [(cell, details, name) for cell, details in found for name in _bounds(details)]
    if not bounds:
        return None
    drawable = [row for one in bounds if (row := _drawable(*one)) is not None]
    refuted = [describe_method(cell) for cell, details in found if details.get("refuted") is True]
    parts: list[Html | Figure] = [
        paragraph(
            "A guarantee says 'at most' and is proven; an audit says 'at least' and is measured, "
            "by guessing which made-up documents a model was trained on. A bound above the claimed "
            "level, if it assumes nothing, shows that the claim is false. One below it proves "
            "nothing: a stronger attacker may find more."
        ),
        paragraph(
            f"Refuted: {', '.join(dict.fromkeys(refuted))}."
            if refuted
            else "No claim was refuted, which does not prove any."
        ),
        Figure(
            title="Measured against claimed ε.",
            description="Points above the diagonal exceed their claim. At the right edge stands "
            "what claims nothing that a guess about whole documents could refute.",
            table=Table(
                caption="Bounds from below",
                head=("method", "seed", "bound", "claimed ε", "measured ε, at least", "guesses"),
                rows=[_row(*one) for one in bounds],
            ),
            chart=draw_figure(lambda: audit_chart(drawable)) if drawable else None,
        ),
    ]
    return Section(name="claims", title="Measured against claimed privacy", parts=parts)


def _bounds(details: Mapping[str, Any]) -> Mapping[str, Any]:
    found = details.get("bounds")
    return found if isinstance(found, dict) else {}


def _measure(details: Mapping[str, Any], name: str) -> float | None:
    bound = _bounds(details)[name]
    return as_number(bound.get("epsilon_at_least")) if isinstance(bound, dict) else None


def _claimed(details: Mapping[str, Any]) -> float | None:
    """None where nothing is claimed that such a bound could refute."""
    comparable = details.get("comparable") is not False
    return as_number(details.get("claimed_epsilon")) if comparable else None


def _drawable(cell: CellRecord, details: Mapping[str, Any], name: str) -> AuditRow | None:
    measured = _measure(details, name)
    if name not in NAMES or measured is None or not math.isfinite(measured):
        return None
    elsewhere = " (claims something else)" if details.get("comparable") is False else ""
    run = describe_method(cell) + elsewhere
    return AuditRow(run=run, claimed=_claimed(details), bound=name, measured=measured)


def _row(cell: CellRecord, details: Mapping[str, Any], name: str) -> list[CellValue]:
    claimed = _claimed(details)
    right, guesses = (as_number(details.get(key)) for key in ("right", "guesses"))
    something_else = details.get("comparable") is False
    return [
        describe_method(cell),
        cell.seed,
        NAMES.get(name, name),
        "about something else" if something_else else epsilon_of(claimed),
        _measure(details, name),
        "–" if right is None or guesses is None else f"{right:.0f} of {guesses:.0f} right",
    ]
