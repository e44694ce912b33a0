"""What attacks, measures and audits found, and what each attacker is assumed to know.

An attack or a measure defines its own charts (``chapter``); here they become sections of the page.
Only installed components are used: a study's folder may come from anywhere, so nothing is loaded
because the folder names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.attacks.attack import Attempt, Needs, chapter_of, needs_of
from sfumato.catalog import entries
from sfumato.charts.audit import NAMES, AuditRow, audit_chart
from sfumato.charts.chapter import Chapter, Drawing, Folded, Listing, Topic
from sfumato.charts.numbers import as_number, epsilon_of, interval
from sfumato.core.errors import SfumatoError
from sfumato.reports.page import (
    Block,
    CellValue,
    Figure,
    Fold,
    Heading,
    Section,
    Table,
    bullets,
    draw_figure,
    fold,
    paragraph,
)
from sfumato.reports.studied import Studied, describe_method
from sfumato.studies.cell import ATTACK, AUDIT, MEASURE
from sfumato.studies.folder import CellRecord


def chapters(study: Studied) -> list[Section]:
    """A section for each topic on which a measure or an attack has something to draw."""
    by_topic: dict[Topic, list[Drawing | Folded]] = {}
    for chapter in _chapters(study):
        by_topic.setdefault(chapter.topic, []).extend(chapter.parts)
    return [
        Section(
            name=topic.name,
            title=topic.title,
            parts=[paragraph(topic.lead), *(_part(one) for one in by_topic[topic])],
        )
        for topic in sorted(by_topic, key=lambda topic: topic.order)
    ]


def _chapters(study: Studied) -> Iterator[Chapter]:
    for name, component in _installed(study, "measures", MEASURE):
        own = getattr(component, "chapter", None)
        chapter = None if own is None else own(study.taken(name))
        if chapter is not None:
            yield chapter
    for name, component in _installed(study, "attacks", ATTACK):
        chapter = chapter_of(name, component, study.attempts(name))
        if chapter is not None:
            yield chapter


def _installed(study: Studied, catalog: str, kind: str) -> Iterator[tuple[str, Any]]:
    """The components with results in this study that are in the catalog."""
    for name in dict.fromkeys(cell.name for cell in study.done if cell.kind == kind):
        entry = entries(catalog).get(name)
        if entry is not None:
            try:
                yield name, entry.load()
            except (ImportError, AttributeError, SfumatoError):
                continue  # a broken package draws nothing; the tables remain


def _part(part: Drawing | Folded) -> Fold | Figure:
    if isinstance(part, Folded):
        return fold(part.summary, _table(part.listing))
    return Figure(
        title=part.title,
        description=part.description,
        table=_table(part.listing),
        chart=None if part.draw is None else draw_figure(part.draw),
    )


def _table(listing: Listing) -> Table:
    return Table(caption=listing.caption, head=listing.head, rows=listing.rows)


def attackers(study: Studied) -> Section | None:
    """What each attacker knows, the result of the null control, and notes."""
    names = list(dict.fromkeys(cell.name for cell in study.done if cell.scores))
    if not names:
        return None
    said = paragraph(
        "An attack proves that something leaks, never that nothing does. Each has a null control: "
        "the same attack where there is nothing to find, which must come out near chance."
    )
    beside = {name: needs_of(component) for name, component in _installed(study, "attacks", ATTACK)}
    parts = [
        part for name in names for part in _attack(name, study.attempts(name), beside.get(name))
    ]
    return Section(name="attackers", title="What the attackers know", parts=[said, *parts])


def _attack(name: str, found: list[Attempt], needs: Needs | None) -> list[Block]:
    knowledge = dict.fromkeys(one.scores.knowledge for one in found)
    notes = dict.fromkeys(note for one in found for note in one.scores.notes)
    rows = [
        (
            attempt.said,
            attempt.seed,
            one.metric,
            one.value,
            interval(one.low, one.high),
            attempt.scores.chance.get(one.metric),
        )
        for attempt in found
        for one in (
            *attempt.scores.control.figures,
            *(
                one
                for one in attempt.scores.figures
                if needs and needs.is_about_the_data(one.metric)
            ),
        )
    ]
    what = dict.fromkeys(one.scores.control.what for one in found)
    head = ("against", "seed", "figure", "value", "95 % interval", "by chance")
    parts: list[Block] = [Heading(text=name), *(paragraph(one) for one in knowledge if one)]
    if notes:
        parts.append(fold(f"Notes ({len(notes)})", bullets(list(notes)), printed=True))
    if rows:
        caption = f"Null control: {'; '.join(one for one in what if one)}"
        caption += "; and what the texts show by themselves"
        parts.append(fold("Null control", Table(caption=caption, head=head, rows=rows)))
    return parts


def claims(study: Studied) -> Section | None:
    """Every bound of every audit, and whether one refutes its claim."""
    found = [(cell, cell.details) for cell in study.done if cell.kind == AUDIT and cell.details]
    bounds = [(cell, details, name) for cell, details in found for name in _bounds(details)]
    if not bounds:
        return None
    drawable = [row for one in bounds if (row := _drawable(*one)) is not None]
    refuted = [describe_method(cell) for cell, details in found if details.get("refuted") is True]
    parts: list[Block] = [
        paragraph(
            "A guarantee says 'at most' and is proven; an audit says 'at least' and is measured, "
            "by guessing which made-up documents a model was trained on. A bound above the claimed "
            "level, if it assumes nothing, shows that the claim is false. One below it proves "
            "nothing: a stronger attacker may find more."
        ),
        paragraph(
            f"Refuted: {', '.join(dict.fromkeys(refuted))}."
            if refuted
            else "No claim was refuted. That does not prove any claim."
        ),
        Figure(
            title="Measured against claimed ε.",
            description="Points above the diagonal exceed their claim. Runs at the right edge "
            "claim nothing that guesses about whole documents could refute.",
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
    """The claimed epsilon; None if such a bound could not refute the claim."""
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
