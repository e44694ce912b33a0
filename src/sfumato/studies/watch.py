"""The progress of a study: cells done, failed, running and left, and the remaining time.

A ``Board`` follows a study that is being run; ``look_at`` reads a folder once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sfumato.studies.cell import Cell
from sfumato.studies.expected import Durations
from sfumato.studies.folder import DONE, FAILED, MISSING, CellRecord, StudyFolder
from sfumato.studies.locks import holder_since
from sfumato.studies.worker import Work


@dataclass(frozen=True)
class Reached:
    """Counts of cells; ``seconds_left`` is an estimate, None until a cell of each kind is finished.

    ``blocked`` cells depend on one that failed.
    """

    done: int
    failed: int
    running: tuple[Cell, ...]
    blocked: int
    left: int
    seconds_left: float | None

    @property
    def total(self) -> int:
        """The number of cells."""
        return self.done + self.failed + len(self.running) + self.blocked + self.left


STATES = (DONE, FAILED, "running", "left")


@dataclass(frozen=True, kw_only=True)
class StudyStatus:
    """The cells of a study's folder, by state."""

    done: tuple[CellRecord, ...]
    failed: tuple[CellRecord, ...]
    running: tuple[CellRecord, ...]
    left: tuple[CellRecord, ...]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        """How many cells are in each state."""
        return {name: len(getattr(self, name)) for name in STATES}

    def sentence(self) -> str:
        """For people."""
        said = ", ".join(f"{count:,} {name}" for name, count in self.counts().items())
        return f"{self.cells:,} cells: {said}"

    def __repr__(self) -> str:
        whys = [f"failed: {cell.title}: {cell.why}" for cell in self.failed]
        return "\n  ".join([self.sentence(), *whys])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        errors = [
            {"cell": cell.key, "what": cell.title, **dict(cell.error or {})} for cell in self.failed
        ]
        now = [cell.title for cell in self.running]
        return {"cells": self.cells, **self.counts(), "errors": errors, "running_now": now}


def look_at(folder: StudyFolder) -> StudyStatus:
    """The status of the study in a folder, whichever process computes it."""
    found: dict[str, list[CellRecord]] = {name: [] for name in STATES}
    for cell in {cell.key: cell for cell in folder.cells()}.values():
        # An unknown state counts as failed: the cell is computed again.
        state = DONE if cell.state == DONE else FAILED
        if cell.state == MISSING:
            state = "left" if holder_since(folder.lock(cell.key)) is None else "running"
        found[state].append(cell)
    return StudyStatus(**{name: tuple(some) for name, some in found.items()})


class Board:
    """Follows a study's folder, and reads each finished cell once."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._states: dict[str, str] = {}
        self._took: dict[str, float] = {}

    def look(self, workers: int = 1) -> Reached:
        """The progress now."""
        cells = self._work.grid.distinct
        for cell in cells:
            if cell.key not in self._states:
                self._read(cell)
        failed = {key for key, state in self._states.items() if state == FAILED}
        blocked = _blocked(cells, failed)
        others = [
            cell for cell in cells if cell.key not in self._states and cell.key not in blocked
        ]
        since = {
            cell.key: began
            for cell in others
            if (began := holder_since(self._work.folder.lock(cell.key))) is not None
        }
        return Reached(
            done=sum(state == DONE for state in self._states.values()),
            failed=len(failed),
            running=tuple(cell for cell in others if cell.key in since),
            blocked=len(blocked),
            left=sum(cell.key not in since for cell in others),
            seconds_left=self._seconds_left(others, since, workers),
        )

    def _read(self, cell: Cell) -> None:
        state = self._work.state(cell)
        if state is not None:
            self._states[cell.key] = state
            self._took[cell.key] = self._work.folder.seconds(cell.key)

    def _seconds_left(
        self, others: list[Cell], since: dict[str, float], workers: int
    ) -> float | None:
        """The remaining time: that of similar cells for each cell, divided among the workers.

        A cell of a kind that nobody has finished yet may take any time: then nothing is said.
        """
        if not self._took:
            return None
        seen = Durations()
        for cell in self._work.grid.distinct:
            if cell.key in self._took:
                seen.add(cell, self._took[cell.key])
        total = 0.0
        for cell in others:
            expected = seen.expected(cell)
            if expected is None:
                return None
            total += max(0.0, expected - (time.time() - since.get(cell.key, time.time())))
        return total / max(1, workers)


def _blocked(cells: list[Cell], failed: set[str]) -> set[str]:
    """Cells that depend, directly or not, on one that failed."""
    found: set[str] = set()
    for cell in cells:  # the inputs of a cell come before it
        if any(one.key in failed or one.key in found for one in cell.inputs):
            found.add(cell.key)
    return found - failed
