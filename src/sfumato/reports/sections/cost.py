"""What it cost: time, processor time and memory for each kind of computation."""

from __future__ import annotations

from statistics import fmean

from sfumato.reports.numbers import counted, memory
from sfumato.reports.parts import Section, paragraph
from sfumato.reports.studied import Studied
from sfumato.reports.tables import Cell, Table
from sfumato.studies.folder import CellRecord


def cost(study: Studied) -> Section | None:
    """Means over the cells of a kind and method."""
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
    rows = [_row(name, method, cells) for (name, method), cells in timed.items()]
    whole = sum(cell.seconds or 0.0 for cells in timed.values() for cell in cells)
    machine = study.listed("machine")
    processors = machine.get("processors")
    on = f" on {processors} processors" if isinstance(processors, int) else ""
    said = (
        f"{counted(sum(map(len, timed.values())), 'computation')} took {whole:,.0f} seconds in "
        f"all{on}. How long something takes may depend on private text; no guarantee covers it."
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
    return Section(name="cost", title="Cost", parts=[paragraph(said), table.html()])


def _row(name: str, method: str, cells: list[CellRecord]) -> list[Cell]:
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
