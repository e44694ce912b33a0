"""Computing cells: take one that nobody has, compute it, write it down, until none is left.

Any number of workers do this on one folder at once, in one command or in several. Who holds a
cell's lock computes it, and looks again whether it is finished before beginning; a worker that is
killed loses its locks, and the next one computes the cell anew. The record of a cell is written
last and whole, so a cell is either finished or not begun.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.core.errors import SfumatoError
from sfumato.core.files import write_whole
from sfumato.studies import cells
from sfumato.studies.cells import Cell
from sfumato.studies.computing.context import Context, Found
from sfumato.studies.config import Study
from sfumato.studies.costs import Cost, measured
from sfumato.studies.folder import DONE, FAILED, StudyFolder
from sfumato.studies.grid import Grid
from sfumato.studies.locking import held

WAIT = 0.1
_MODULES = {
    cells.CORPUS: "corpus",
    cells.RELEASE: "release",
    cells.RUN: "run",
    cells.ATTACK: "attack",
    cells.AUDIT: "audit",
}

Told = Callable[[Cell, str, float], None]
"""Told about a cell that was computed here: how it ended and how long it took."""


@dataclass(frozen=True)
class Work:
    """A study, its grid and its folder."""

    study: Study
    grid: Grid
    folder: StudyFolder

    def state(self, cell: Cell) -> str | None:
        """``done``, ``failed``, or None if it is neither."""
        try:
            content = self.folder.record(cell.key).read_bytes()
        except OSError:
            return None
        return _state(content)


def _state(content: bytes) -> str:
    """What cannot be read is computed again, as what failed is."""
    try:
        found = json.loads(content)["state"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return FAILED
    return DONE if found == DONE else FAILED


def forget_failures(work: Work) -> None:
    """What failed before is tried again."""
    for cell in work.grid.distinct:
        with held(work.folder.lock(cell.key)) as mine:
            if mine and work.state(cell) == FAILED:
                work.folder.record(cell.key).unlink(missing_ok=True)


def work_on(work: Work, told: Told = lambda *_: None, parent: int | None = None) -> None:
    """Compute what can be computed, until everything is finished or waits for what has failed.

    With ``parent`` it ends when that process is not its parent any more.
    """
    finished: dict[str, str] = {}
    while parent is None or os.getppid() == parent:
        open_cells = _look(work, finished)
        if not open_cells:
            return
        if not any(_computed(work, cell, told) for cell in open_cells if _ready(cell, finished)):
            time.sleep(WAIT)


def _look(work: Work, finished: dict[str, str]) -> list[Cell]:
    """What is neither finished nor waiting in vain."""
    left = []
    for cell in work.grid.distinct:
        if cell.key not in finished:
            state = work.state(cell)
            if any(finished.get(one.key) == FAILED for one in cell.inputs):
                state = FAILED  # it cannot be computed, and nothing is written about it
            if state is not None:
                finished[cell.key] = state
            else:
                left.append(cell)
    return left


def _ready(cell: Cell, finished: dict[str, str]) -> bool:
    return all(finished.get(one.key) == DONE for one in cell.inputs)


def _computed(work: Work, cell: Cell, told: Told) -> bool:
    """Whether the cell was computed here."""
    with held(work.folder.lock(cell.key)) as mine:
        if not mine or work.state(cell) is not None:
            return False
        work.folder.cell(cell.key).mkdir(parents=True, exist_ok=True)
        found: Found | None = None
        error: dict[str, str] | None = None
        with measured() as cost:
            try:
                found = compute(Context(work.study, work.folder, cell))
            except Exception as caught:
                error = _said(caught)
        _write(work, cell, found, error, cost)
        told(cell, FAILED if found is None else DONE, cost.seconds)
        return True


def compute(context: Context) -> Found:
    """What the cell is about."""
    cell = context.cell
    module = cell.name if cell.kind == cells.MEASURE else _MODULES[cell.kind]
    found: Found = import_module(f"sfumato.studies.computing.{module}").compute(context)
    return found


def _said(error: Exception) -> dict[str, str]:
    """What may be written down of an error: our own messages quote no text, others' might."""
    if isinstance(error, SfumatoError):
        return {"type": type(error).__name__, "message": str(error)}
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return {"type": type(error).__name__, "message": f"an unexpected error ({place})"}


def _write(
    work: Work, cell: Cell, found: Found | None, error: dict[str, str] | None, cost: Cost
) -> None:
    record: dict[str, Any] = cell.entry() | {"state": FAILED, "error": error}
    if found is not None:
        record = cell.entry() | {
            "state": DONE,
            "rows": [row.as_dict() for row in found.rows],
            "guarantee": found.guarantee,
            "sentence": found.sentence,
            "scores": found.scores,
            "details": dict(found.details),
        }
    record |= cost.as_dict() | {"finished": datetime.now(UTC).isoformat(timespec="seconds")}
    write_whole(work.folder.record(cell.key), (json.dumps(record, indent=1) + "\n").encode())
