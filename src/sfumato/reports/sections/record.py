"""The record behind a study's results: all figures, their cost, their origin, what is missing.

All figures are listed as in ``results.jsonl``, up to a limit. Cost is time, processor time and
memory for each kind of computation. The provenance is the command, the file and the versions as
they were, and how to cite them. What failed is listed with its error, what was never computed by
its place in the grid.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from statistics import fmean
from typing import Any

from sfumato.charts.numbers import count_things, interval, level_of, memory, plain
from sfumato.reports.page import (
    Block,
    CellValue,
    Code,
    Notice,
    Paragraph,
    Section,
    Table,
    Verbatim,
    fold,
    paragraph,
    properties,
)
from sfumato.reports.studied import Studied, describe_method
from sfumato.results.row import COST, Row
from sfumato.studies.folder import CellRecord

# The page stays small; results.jsonl has the rest.
MOST_ROWS = 3000
_HEAD = (
    *("corpus", "method", "level", "seed", "kind", "figure", "by"),
    *("group", "value", "interval", "by chance", "n"),
)


def all_figures(study: Studied) -> Section | None:
    """The table of all figures, folded."""
    rows = [row for row in study.rows if row.role != COST]
    if not rows:
        return None
    said = f"{len(rows):,} figures, each from one computation with one seed. "
    said += "results.jsonl beside this page has all digits."
    if len(rows) > MOST_ROWS:
        said += f" The first {MOST_ROWS:,} are listed here."
    first = 0 if study.corpora else 1  # a single corpus has no name
    table = Table(
        caption="Figures as measured; intervals hold with 95 % each",
        head=_HEAD[first:],
        rows=[_row(row)[first:] for row in rows[:MOST_ROWS]],
    )
    return Section(
        name="figures",
        title="All figures",
        parts=[paragraph(said), fold("Show all figures", table)],
    )


def _row(row: Row) -> list[CellValue]:
    group = "all" if row.group_field is None else f"{row.group_field} = {row.group}"
    return [
        row.corpus,
        row.method,
        level_of(row.parameter, row.level) or "–",
        row.seed,
        row.role,
        row.metric,
        row.by,
        group,
        row.value,
        interval(row.low, row.high),
        row.chance,
        row.n,
    ]


def cost(study: Studied) -> Section | None:
    """The mean cost of each kind of computation and method."""
    timed: dict[tuple[str, str], list[CellRecord]] = {}
    seen: set[str] = set()
    for cell in study.done:
        # A computation that two methods share was done once.
        if cell.seconds is not None and cell.key not in seen:
            seen.add(cell.key)
            name = f"{cell.kind} {cell.name}".strip()
            timed.setdefault((name, cell.method or "–"), []).append(cell)
    if not timed:
        return None
    rows = [_cost_row(name, method, cells) for (name, method), cells in timed.items()]
    whole = sum(cell.seconds or 0.0 for cells in timed.values() for cell in cells)
    machine = study.listed("machine")
    processors = machine.get("processors")
    on = f" on {processors} processors" if isinstance(processors, int) else ""
    said = (
        f"{count_things(sum(map(len, timed.values())), 'computation')} took {whole:,.0f} seconds "
        f"in all{on}. How long something takes may depend on private text; no guarantee covers it."
    )
    head = (
        "computation",
        "method",
        "times",
        "seconds each",
        "processor seconds each",
        "peak memory",
    )
    table = Table(caption="Cost of a computation, on average", head=head, rows=rows)
    return Section(name="cost", title="Cost", parts=[paragraph(said), table])


def _cost_row(name: str, method: str, cells: list[CellRecord]) -> list[CellValue]:
    seconds = [cell.seconds for cell in cells if cell.seconds is not None]
    processor = [cell.cpu_seconds for cell in cells if cell.cpu_seconds is not None]
    peaks = [cell.peak_memory for cell in cells if cell.peak_memory is not None]
    return [
        name,
        method,
        len(cells),
        round(fmean(seconds), 2),
        round(fmean(processor), 2) if processor else None,
        memory(max(peaks, default=None)),
    ]


def provenance(study: Studied) -> Section:
    """Everything that is needed to repeat the study."""
    command, file = study.said("command"), study.said("file")
    parts: list[Block] = []
    if command:
        parts += [paragraph("The command:"), Verbatim(text=command)]
    methods = [one for one in study.about.get("methods") or () if isinstance(one, dict)]
    if methods:
        parts.append(_methods(methods))
    if file:
        parts.append(fold("The study's file", Verbatim(text=file), printed=True))
    versions = {**study.listed("versions"), **study.listed("machine")}
    if versions:
        parts.append(
            properties("Versions and machine", [(key, str(one)) for key, one in versions.items()])
        )
    return Section(
        name="provenance",
        title="How this was made, and how to cite it",
        parts=[*parts, _citation(study)],
    )


def _methods(methods: list[dict[str, Any]]) -> Table:
    rows = [
        (
            str(one.get("name", "")),
            str(one.get("kind", "")),
            str(one.get("parameter") or "–"),
            ", ".join(map(_level, one.get("levels") or ())) or "–",
            spell_command(one.get("settings")),
        )
        for one in methods
    ]
    head = ("method", "kind", "parameter", "levels", "settings")
    return Table(caption="Methods", head=head, rows=rows)


def _level(level: object) -> str:
    return plain(float(level)) if isinstance(level, (int, float)) else str(level)


def spell_command(settings: object) -> str:
    """Settings on one line.

    >>> spell_command({"a": 1, "b": {"c": "x"}})
    'a = 1, b = {"c": "x"}'
    """
    if not isinstance(settings, Mapping):
        return "–"
    said = (
        f"{key} = {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in settings.items()
    )
    return ", ".join(said) or "–"


def _citation(study: Studied) -> Paragraph:
    digest = sha256(study.folder.description.read_bytes()).hexdigest()
    version = study.listed("versions").get("sfumato", "of unknown version")
    said = f"“{study.title}”, a study computed with sfumato {version}; study.json has the SHA-256 "
    return paragraph("To cite: ", said, Code(digest), ".")


# An error may be long, and the same one may stop a hundred cells.
MOST_LISTED = 200


def missing_notice(study: Studied) -> Notice | None:
    """The notice at the top of an incomplete report."""
    lacking = len(study.failed) + len(study.missing)
    if not lacking:
        return None
    if not study.cells:
        return None
    return Notice(
        kind="missing",
        title=f"{lacking:,} of {count_things(len(study.cells), 'computation')} are not here.",
        text=f"{count_things(len(study.failed), 'computation')} failed and {len(study.missing):,} "
        "are missing; this report is about the rest.",
    )


def missing(study: Studied) -> Section | None:
    """The computations that failed, with their errors, and those that are missing."""
    if not study.failed and not study.missing:
        return None
    parts: list[Block] = []
    if study.failed:
        rows = [
            (
                describe_method(cell) or cell.corpus or "corpus",
                _done(cell.kind, cell.name),
                cell.seed,
                str((cell.error or {}).get("type", "unknown")),
                str((cell.error or {}).get("message", "")),
            )
            for cell in study.failed[:MOST_LISTED]
        ]
        caption = f"Failed: {count_things(len(study.failed), 'computation')}"
        if len(study.failed) > MOST_LISTED:
            caption += f", of which the first {MOST_LISTED} are listed"
        columns = ("method", "computation", "seed", "error", "message")
        parts.append(Table(caption=caption, head=columns, rows=rows))
    if study.missing:
        waiting = Counter(
            (describe_method(cell) or cell.corpus or "corpus", _done(cell.kind, cell.name))
            for cell in study.missing
        )
        counts = [(method, what, count) for (method, what), count in waiting.items()]
        caption = f"Not computed, or waiting for what failed: {len(study.missing):,}"
        head = ("method", "computation", "missing")
        parts.append(Table(caption=caption, head=head, rows=counts))
    again = paragraph(
        "To compute what is missing, run the study again and resume it: ",
        Code(study.said("command") or "sfumato study run FILE.toml"),
    )
    return Section(name="missing", title="What is missing", parts=[*parts, again])


def _done(kind: str, name: str) -> str:
    return f"{kind} {name}" if name else kind
