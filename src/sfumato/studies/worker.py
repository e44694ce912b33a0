"""A worker: take a cell that no other worker holds, compute it, record it, until none is left.

Any number of workers may do this in one folder at once, started by one command or by several. The
worker that holds a cell's lock computes the cell, after checking again that it is not finished. A
worker that is killed loses its locks, and another one computes the cell again. The record of a cell
is written last and in one step, so a cell is either finished or not begun. The record includes the
time and the processor time, with those of attempts that were killed (``attempts``), and the peak
memory.

As a process (``python -m sfumato.studies.worker``) it is started by the command that runs a study,
reads its work from a pipe, and ends with that command.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from sfumato.core.errors import SfumatoError
from sfumato.core.files import write_whole
from sfumato.releases.payment import Payment
from sfumato.studies import cell as cells
from sfumato.studies.attempts import Spent, note_time
from sfumato.studies.cell import Cell
from sfumato.studies.deadline import Clock
from sfumato.studies.folder import DONE, FAILED, StudyFolder
from sfumato.studies.grid import Grid
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.locks import hold_lock
from sfumato.studies.spec import StudySpec
from sfumato.training.keeping import keep_features

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Cost:
    """The cost of a block, filled in when the block ends."""

    seconds = 0.0
    cpu_seconds = 0.0
    peak_memory: int | None = None

    def add(self, earlier: Spent) -> None:
        """Count the time of earlier attempts, too."""
        self.seconds += earlier.seconds
        self.cpu_seconds += earlier.cpu_seconds

    def as_dict(self) -> dict[str, float | int | None]:
        """For the record of a cell."""
        return {
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_memory": self.peak_memory,
        }


@contextmanager
def measure_cost() -> Iterator[Cost]:
    """Measure a block; memory is the peak of the whole process while the block ran."""
    cost = Cost()
    _forget_peak()
    began, worked = time.perf_counter(), time.process_time()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - began
        cost.cpu_seconds = time.process_time() - worked
        cost.peak_memory = _peak()


def _forget_peak() -> None:
    """Reset the peak memory that Linux keeps for this process."""
    try:
        _RESET.write_text("5")
    except OSError:
        return  # then the peak is that of the process so far


def _peak() -> int:
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else highest * 1024


WAIT = 0.1
# Where a kind of cell is computed. Modules are imported when they are needed.
_COMPUTED_BY = {
    cells.CORPUS: "corpus.compute_corpus",
    cells.RELEASE: "target.compute_release",
    cells.VECTORS: "vectors.compute_vectors",
    cells.SYNTHETIC: "synthesis.compute_synthesis",
    cells.RUN: "target.compute_run",
    cells.ATTACK: "assessment.compute_attack",
    cells.MEASURE: "assessment.compute_measure",
    cells.AUDIT: "assessment.compute_audit",
}

Told = Callable[[Cell, str, float], None]
"""Called for each cell that was computed here, with its state and its seconds."""


@dataclass(frozen=True)
class Work:
    """A study, its grid and its folder; ``payment`` is who pays for what it releases.

    After ``until`` (seconds since 1970) no cell is begun, nor is one that is expected to end later.
    """

    study: StudySpec
    grid: Grid
    folder: StudyFolder
    payment: Payment | None = None
    until: float | None = None

    def context(self, cell: Cell) -> Context:
        """What the computation of a cell is given."""
        return Context(self.study.of_corpus(cell.corpus), self.folder, cell, self.payment)

    def state(self, cell: Cell) -> str | None:
        """``done``, ``failed``, or None if it is neither."""
        try:
            content = self.folder.record(cell.key).read_bytes()
        except OSError:
            return None
        return _state(content)


def _state(content: bytes) -> str:
    """The state in a record; an unreadable record counts as failed and is computed again."""
    try:
        found = json.loads(content)["state"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return FAILED
    return DONE if found == DONE else FAILED


def compute_corpora(work: Work) -> None:
    """Compute the cells of corpora alone, which release nothing."""
    for cell in work.grid.distinct:
        if cell.kind == cells.CORPUS and work.state(cell) is None:
            compute_cell(work, cell)


def forget_failures(work: Work) -> None:
    """Delete the records of failed cells, so that they are tried again."""
    for cell in work.grid.distinct:
        with hold_lock(work.folder.lock(cell.key)) as mine:
            if mine and work.state(cell) == FAILED:
                work.folder.record(cell.key).unlink(missing_ok=True)


def work_on(work: Work, told: Told = lambda *_: None, parent: int | None = None) -> None:
    """Compute cells until each is finished, depends on one that failed, or ends too late.

    The most urgent cells come first. With ``parent`` it stops when that process is no longer its
    parent.
    """
    finished: dict[str, str] = {}
    clock = Clock(work.grid, work.folder, work.until)
    while parent is None or os.getppid() == parent:
        open_cells = clock.in_time(list_open(work, finished), finished)
        if not open_cells:
            return
        if not any(
            compute_cell(work, cell, told) for cell in open_cells if is_ready(cell, finished)
        ):
            time.sleep(WAIT)


def list_open(work: Work, finished: dict[str, str]) -> list[Cell]:
    """The cells that are neither finished nor depend on one that failed."""
    left = []
    for cell in work.grid.by_priority:
        if cell.key not in finished:
            state = work.state(cell)
            if any(finished.get(one.key) == FAILED for one in cell.inputs):
                state = FAILED  # it cannot be computed, and nothing is written about it
            if state is not None:
                finished[cell.key] = state
            else:
                left.append(cell)
    return left


def is_ready(cell: Cell, finished: dict[str, str]) -> bool:
    """Whether everything that a cell needs is done."""
    return all(finished.get(one.key) == DONE for one in cell.inputs)


def compute_cell(work: Work, cell: Cell, told: Told = lambda *_: None) -> bool:
    """Compute a cell that is free and unfinished; whether it was computed here."""
    with hold_lock(work.folder.lock(cell.key)) as mine:
        if not mine or work.state(cell) is not None:
            return False
        work.folder.cell(cell.key).mkdir(parents=True, exist_ok=True)
        found: CellResult | None = None
        error: dict[str, str] | None = None
        noted = work.folder.spent(cell.key)
        with note_time(noted) as earlier, measure_cost() as cost:
            try:
                found = compute(work.context(cell))
            except Exception as caught:
                error = _say(caught)
        cost.add(earlier)
        _write(work, cell, found, error, cost)
        noted.unlink(missing_ok=True)
        told(cell, FAILED if found is None else DONE, cost.seconds)
        return True


def compute(context: Context) -> CellResult:
    """Compute a cell, by its kind."""
    module, _, function = _COMPUTED_BY[context.cell.kind].partition(".")
    compute_kind = getattr(import_module(f"sfumato.studies.kinds.{module}"), function)
    with keep_features():  # many models of a study have the same frozen layers
        found: CellResult = compute_kind(context)
    return found


def _say(error: Exception) -> dict[str, str]:
    """What may be recorded of an error: sfumato's messages quote no text, others' might."""
    if isinstance(error, SfumatoError):
        return {"type": type(error).__name__, "message": str(error)}
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return {"type": type(error).__name__, "message": f"an unexpected error ({place})"}


def _write(
    work: Work, cell: Cell, found: CellResult | None, error: dict[str, str] | None, cost: Cost
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


def main() -> None:
    """Do the work that comes through standard input."""
    work, parent = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the process that started this
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        work_on(work, parent=parent)
    except KeyboardInterrupt:
        sys.exit(130)


def _end_with_parent() -> None:
    """End with the command: a cell may take hours, and nobody waits for it any more."""
    # Nothing arrives until the other end is closed. The read bypasses the buffer, because the
    # interpreter needs the buffer's lock when it ends.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
