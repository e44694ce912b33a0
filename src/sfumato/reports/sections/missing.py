"""What is not there: cells that failed, with their errors, and cells that were never computed."""

from __future__ import annotations

from collections import Counter

from sfumato.reports.markup import Html, tag
from sfumato.reports.numbers import counted
from sfumato.reports.parts import Notice, Section, paragraph
from sfumato.reports.studied import Studied, called
from sfumato.reports.tables import Table

# An error may be long, and the same one may stop a hundred cells.
MOST_LISTED = 200


def missing_notice(study: Studied) -> Notice | None:
    """What stands at the top of an incomplete report."""
    lacking = len(study.failed) + len(study.missing)
    if not lacking:
        return None
    if not study.cells:
        return None
    return Notice(
        kind="missing",
        title=f"{lacking:,} of {counted(len(study.cells), 'computation')} are not here.",
        text=f"{counted(len(study.failed), 'computation')} failed and {len(study.missing):,} "
        "are missing; whatever follows is about the rest.",
    )


def missing(study: Studied) -> Section | None:
    """Which ones, and why."""
    if not study.failed and not study.missing:
        return None
    parts: list[Html] = []
    if study.failed:
        rows = [
            (
                called(cell) or "corpus",
                _done(cell.kind, cell.name),
                cell.seed,
                str((cell.error or {}).get("type", "unknown")),
                str((cell.error or {}).get("message", "")),
            )
            for cell in study.failed[:MOST_LISTED]
        ]
        caption = f"Failed: {counted(len(study.failed), 'computation')}"
        if len(study.failed) > MOST_LISTED:
            caption += f", of which the first {MOST_LISTED} are listed"
        columns = ("method", "computation", "seed", "error", "message")
        parts.append(Table(caption=caption, head=columns, rows=rows).html())
    if study.missing:
        waiting = Counter(
            (called(cell) or "corpus", _done(cell.kind, cell.name)) for cell in study.missing
        )
        counts = [(method, what, count) for (method, what), count in waiting.items()]
        caption = f"Not computed, or waiting for what failed: {len(study.missing):,}"
        head = ("method", "computation", "missing")
        parts.append(Table(caption=caption, head=head, rows=counts).html())
    again = paragraph(
        "Run the study again to compute what is missing: ",
        tag("code", {}, study.said("command") or "sfumato study run FILE.toml"),
    )
    return Section(name="missing", title="What is missing", parts=[*parts, again])


def _done(kind: str, name: str) -> str:
    return f"{kind} {name}" if name else kind
