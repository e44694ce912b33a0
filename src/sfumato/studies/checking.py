"""What a study will read and write, told before it does.

The list is made by looking through the whole grid with doors that note what is asked for in place
of refusing it. Whatever a cell uses is asked for by the same function when it is computed, so a
path that is not in the list is one that the study cannot use.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.core.config import WRITES
from sfumato.studies.config import Study
from sfumato.studies.doors import Passage
from sfumato.studies.grid import grid


def passages(study: Study, output: Path) -> list[Passage]:
    """Everything that a study with listing doors asks for, what it reads first."""
    grid(study)
    study.doors.pass_through(output.resolve().parent, output, WRITES)
    return sorted(study.doors.asked.values(), key=lambda one: (one.purpose, one.path))
