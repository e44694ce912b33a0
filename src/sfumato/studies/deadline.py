"""When a study has an end: which cells are expected to be finished before it.

A cell is begun if those like it that are finished took less time than there is left, and so did
those of what it needs. A cell of which nothing is known is begun as long as there is any time. What
was begun is finished, however long that takes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from sfumato.studies.cell import Cell
from sfumato.studies.expected import Durations
from sfumato.studies.folder import DONE, StudyFolder
from sfumato.studies.grid import Grid


class Clock:
    """Looks at the time; without an end every cell is in time."""

    def __init__(self, grid: Grid, folder: StudyFolder, until: float | None) -> None:
        self._grid, self._folder, self._until = grid, folder, until
        self._durations = Durations()
        self._noted: set[str] = set()

    def in_time(self, cells: list[Cell], finished: Mapping[str, str]) -> list[Cell]:
        """The cells to be computed; one that needs a cell that would end too late is none."""
        if self._until is None:
            return cells
        self._note(finished)
        remaining, asked = self._until - time.time(), {cell.key for cell in cells}
        late: set[str] = set()
        for cell in self._grid.distinct:  # inputs come first
            expected = self._durations.expected(cell) or 0.0
            needs_late = any(one.key in late for one in cell.inputs)
            if cell.key in asked and (remaining <= 0 or expected > remaining or needs_late):
                late.add(cell.key)
        return [cell for cell in cells if cell.key not in late]

    def _note(self, finished: Mapping[str, str]) -> None:
        for cell in self._grid.distinct:
            if finished.get(cell.key) == DONE and cell.key not in self._noted:
                self._noted.add(cell.key)
                self._durations.add(cell, self._folder.seconds(cell.key))
