"""What attacks found about one file or one model, from the files that they wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.charts.numbers import interval, rounded
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.json import read_json
from sfumato.reports.page import (
    Block,
    CellValue,
    Heading,
    Section,
    Table,
    bullets,
    fold,
    paragraph,
)
from sfumato.results.measured import Measured
from sfumato.results.scores import Scores

NOT_ATTACKED = (
    "no attack is part of this report. A guarantee needs none; attacks look for what nobody "
    "thought of. Attack it, keep the figures as JSON, and make the page with them (`scores=FILE`)."
)


def read_scores(paths: Sequence[Path]) -> tuple[Scores, ...]:
    """The scores in some files, as attacks write them in JSON."""
    return tuple(scores for path in paths for scores in _read(path))


def _read(path: Path) -> list[Scores]:
    if not path.is_file():
        raise MissingInput(f"there is no {path} with the scores of an attack")
    content = read_json(path)
    listed: Any = content.get("attacks", [content]) if isinstance(content, dict) else content
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise BadInput(f"{path} does not hold the scores of an attack")
    return [Scores.from_dict(one) for one in listed]


def attack_sentence(found: Sequence[Scores]) -> str:
    """What was found, in a sentence."""
    if not found:
        return NOT_ATTACKED
    return "; ".join(_sentence(scores) for scores in found) + "."


def _sentence(scores: Scores) -> str:
    telling = [one for one in scores.figures if one.metric in scores.chance] or [*scores.figures]
    leaks = [one for one in telling if _above(one, scores.chance.get(one.metric))]
    if leaks:
        said = ", ".join(_say(one, scores) for one in leaks[:2])
        return f"{scores.attack} finds more than chance: {said}"
    alone = all(one.low is None for one in telling)
    said = "has no interval and tells nothing" if alone else "cannot be told from chance"
    return f"{scores.attack} {said}: {_say(telling[0], scores)}"


def _above(one: Measured, chance: float | None) -> bool:
    return chance is not None and one.low is not None and one.low > chance


def _say(one: Measured, scores: Scores) -> str:
    chance = scores.chance.get(one.metric)
    beside = "" if chance is None else f"; {rounded(chance)} by chance"
    ends = "no interval" if one.low is None else f"{rounded(one.low)} to {rounded(one.high)}"
    return f"{one.metric} {rounded(one.value)} ({ends}{beside})"


def attacked(found: Sequence[Scores]) -> Section | None:
    """Every figure of every attack, its null control, and what the attacker knows."""
    if not found:
        return None
    parts: list[Block] = [
        paragraph(
            "An attack proves that something leaks, never that nothing does. These figures were "
            "measured on private text, and no guarantee covers them."
        )
    ]
    for scores in found:
        parts += [Heading(text=scores.attack), paragraph(scores.knowledge)]
        parts.append(_table("What it found", scores.figures, scores))
        control = _table(scores.control.what or "Null control", scores.control.figures, scores)
        parts.append(fold("Null control", control, printed=True))
        if scores.notes:
            parts.append(fold(f"Notes ({len(scores.notes)})", bullets(scores.notes), printed=True))
    return Section(name="attacks", title="What attacks found", parts=parts)


def _table(caption: str, figures: Sequence[Measured], scores: Scores) -> Table:
    rows: list[tuple[CellValue, ...]] = [
        (
            one.metric,
            one.value,
            interval(one.low, one.high),
            scores.chance.get(one.metric),
            one.n,
        )
        for one in figures
    ]
    return Table(
        caption=caption, head=("figure", "value", "95 % interval", "by chance", "n"), rows=rows
    )
