"""A study as a letter: plain text of narrow lines, to be sent by mail when a long run has ended.

How far the study is, what failed and why, what it took, and its figures as means over seeds. It
holds nothing that is not in the study's report, and no text. It still is as private as the study:
no guarantee covers figures that were measured on private text, and where the corpus is not public
the letter says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from sfumato.studies.compare import ComparedFigure, Value, values_of
from sfumato.studies.expected import Durations, spoken
from sfumato.studies.folder import DONE, CellRecord, StudyFolder
from sfumato.studies.watch import StudyStatus, look_at

WIDTH = 72
MOST_FIGURES = 200
_LONGEST = 3  # so many of the cells that took longest are named


def write_letter(folder: StudyFolder) -> str:
    """The letter about the study in a folder."""
    described, status, cells = folder.study(), look_at(folder), folder.cells()
    title = str(described.get("title") or described.get("name"))
    parts = [
        _filled(f"Study {described.get('name')}: {title}") + _filled(status.sentence()),
        list(_cost(status, cells)),
        list(_failures(status)),
        list(_figures(values_of(folder.rows()))),
    ]
    if not described.get("public"):
        parts.append(
            _filled(
                "These figures were measured on private text. No guarantee covers them: they are "
                "for the owner of the text."
            )
        )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _cost(status: StudyStatus, cells: Iterable[CellRecord]) -> Iterator[str]:
    finished = {one.key: one for one in cells if one.state == DONE}
    if not finished:
        return
    seconds = sum(one.seconds or 0.0 for one in finished.values())
    processor = sum(one.cpu_seconds or 0.0 for one in finished.values())
    yield from _filled(
        f"Finished cells took {spoken(seconds)} in all, and {spoken(processor)} of processor time."
    )
    longest = sorted(finished.values(), key=lambda one: -(one.seconds or 0.0))[:_LONGEST]
    for one in longest:
        yield from _filled(f"  {spoken(one.seconds or 0.0)}: {one.title}", "    ")
    known = Durations.of(finished.values())
    left = [known.expected(one) for one in (*status.left, *status.running)]
    expected = sum(one for one in left if one is not None)
    if expected:
        yield from _filled(
            f"What is left takes about {spoken(expected)} of one worker, judged by these."
        )


def _failures(status: StudyStatus) -> Iterator[str]:
    if status.failed:
        yield "Failed"
    for one in status.failed:
        yield from _filled(f"  {one.title}: {one.why}", "    ")


def _figures(values: dict[ComparedFigure, Value]) -> Iterator[str]:
    if not values:
        return
    yield "Figures: mean over seeds, with the interval of 95 % where there is one"
    last = None
    for number, (figure, value) in enumerate(values.items()):
        if number == MOST_FIGURES:
            yield f"  … and {len(values) - MOST_FIGURES:,} more, which are in results.jsonl"
            return
        place = _place(figure)
        if place != last:
            yield from _filled(f"  {place}", "  ")
            last = place
        group = "" if figure.group is None else f" [{figure.group}]"
        yield from _filled(f"    {figure.by}: {figure.metric}{group} {_said(value)}", "      ")


def _place(figure: ComparedFigure) -> str:
    on = f" on {figure.corpus}" if figure.corpus else ""
    at = "" if figure.level is None else f", {figure.parameter} {figure.level:g}"
    return f"{figure.method}{on}{at}"


def _said(value: Value) -> str:
    between = "" if value.low is None else f" ({value.low:.4g}–{value.high:.4g})"
    return f"{value.value:.4g}{between}"


def _filled(text: str, indent: str = "") -> list[str]:
    """Lines that a mail program does not break; what others named may hold line breaks."""
    lead = text[: len(text) - len(text.lstrip(" "))]
    return wrap(
        " ".join(text.split()), WIDTH, initial_indent=lead, subsequent_indent=indent or lead
    )
