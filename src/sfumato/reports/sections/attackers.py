"""What every attacker is assumed to know, what the null control says, and what to bear in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.reports.markup import Html, Table, fold_table, tag
from sfumato.reports.numbers import as_number, interval
from sfumato.reports.parts import Section, bullets, paragraph
from sfumato.reports.studied import Studied, describe_method
from sfumato.studies.kinds.attack import about_the_data


def attackers(study: Studied) -> Section | None:
    """One part for each attack."""
    names = list(dict.fromkeys(cell.name for cell in study.done if cell.scores))
    if not names:
        return None
    said = paragraph(
        "An attack proves that something leaks, never that nothing does. Each has a null control: "
        "the same attack where there is nothing to find, which must come out near chance."
    )
    parts = [part for name in names for part in _attack(study, name)]
    return Section(name="attackers", title="What the attackers know", parts=[said, *parts])


def _attack(study: Studied, name: str) -> list[Html]:
    found = list(study.attacks(name))
    knowledge = dict.fromkeys(str(scores.get("knowledge", "")) for _, scores in found)
    notes = dict.fromkeys(str(note) for _, scores in found for note in scores.get("notes") or ())
    rows = [
        (
            describe_method(cell),
            cell.seed,
            str(one.get("metric")),
            as_number(one.get("value")),
            interval(as_number(one.get("low")), as_number(one.get("high"))),
            as_number(one.get("chance")),
        )
        for cell, scores in found
        for one in (*(_control(scores).get("figures") or ()), *_beside(scores))
    ]
    what = dict.fromkeys(str(_control(scores).get("what", "")) for _, scores in found)
    head = ("against", "seed", "figure", "value", "95 % interval", "by chance")
    parts = [tag("h3", {}, name), *(paragraph(one) for one in knowledge if one)]
    if notes:
        parts.append(fold_table(f"Notes ({len(notes)})", bullets(list(notes)), kind="print"))
    if rows:
        caption = f"Null control: {'; '.join(one for one in what if one)}"
        caption += "; and what the texts show by themselves"
        parts.append(
            fold_table("Null control", Table(caption=caption, head=head, rows=rows).html())
        )
    return parts


def _beside(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Figures about the texts themselves, which no method changes."""
    found = [one for one in scores.get("figures") or () if isinstance(one, dict)]
    return [one for one in found if about_the_data(str(one.get("metric")))]


def _control(scores: Mapping[str, Any]) -> Mapping[str, Any]:
    found = scores.get("control")
    return found if isinstance(found, dict) else {}
