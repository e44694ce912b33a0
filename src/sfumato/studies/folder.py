"""The folder of a study: the grid, what is finished of it, and the figures.

::

    OUT/
      study.json             the file it was made from, versions, and every cell of the grid
      cells/KEY/cell.json    what a cell found, written last; without it the cell is not finished
      cells/KEY/…            what it made: a privatized text, the folder of a training run
      locks/KEY              held by whoever computes the cell, and freed by the system if they die
      results.jsonl          the figures of all finished cells, one flat row each
      results.parquet        the same, if pyarrow is installed
      report.html            the page

Care
    No cell holds private text: a corpus that is neither generated nor declared public is read where
    it stands and never copied. The figures are another matter. They were measured on private text,
    no guarantee covers them, and neither does one cover how long a cell took: a study's folder is
    for its owner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, StorageFailed
from sfumato.metrics.rows import Row

SCHEMA = 1
DONE, FAILED, MISSING = "done", "failed", "missing"


@dataclass(frozen=True, kw_only=True)
class CellRecord:
    """A cell of the grid with what is known of it so far.

    ``inputs`` are the keys of the cells it is computed from. ``scores`` are an attack's, as it
    writes them; ``error`` has a type and a message that quotes no text.
    """

    key: str
    kind: str
    method: str
    parameter: str | None = None
    level: float | None = None
    seed: int = 0
    name: str = ""
    inputs: tuple[str, ...] = ()
    state: str = MISSING
    rows: tuple[Row, ...] = ()
    guarantee: Mapping[str, Any] | None = None
    sentence: str | None = None
    scores: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, str] | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory: int | None = None


@dataclass(frozen=True)
class StudyFolder:
    """Reads what a study left behind; what is not there yet is called missing."""

    path: Path

    @property
    def description(self) -> Path:
        """The grid and where it came from."""
        return self.path / "study.json"

    @property
    def results(self) -> Path:
        """All figures."""
        return self.path / "results.jsonl"

    def cell(self, key: str) -> Path:
        """The folder of one cell."""
        return self.path / "cells" / key

    def record(self, key: str) -> Path:
        """What says that a cell is finished."""
        return self.cell(key) / "cell.json"

    def lock(self, key: str) -> Path:
        """Held while a cell is computed."""
        return self.path / "locks" / key

    def study(self) -> dict[str, Any]:
        """The description, checked to be one."""
        if not self.description.is_file():
            raise StorageFailed(
                f"{self.path} is not the folder of a study: it has no {self.description.name}"
            )
        found = _json(self.description)
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise BadInput(f"{self.description} was not written by this version")
        return found

    def cells(self) -> list[CellRecord]:
        """Every cell of the grid, in its order."""
        return [self._record(entry) for entry in self.study()["cells"]]

    def rows(self) -> list[Row]:
        """The figures of all finished cells, in the order of the grid."""
        return [row for cell in self.cells() for row in cell.rows]

    def _record(self, entry: Mapping[str, Any]) -> CellRecord:
        known = dict(entry)
        path = self.record(str(entry["key"]))
        if path.is_file():
            known |= _json(path)
        try:
            return _cell_record(known)
        except (KeyError, TypeError, ValueError):
            raise BadInput(f"{path} was not written by this version, or is damaged") from None


def _cell_record(known: Mapping[str, Any]) -> CellRecord:
    level = known.get("level")
    return CellRecord(
        key=known["key"],
        kind=known["kind"],
        method=known["method"],
        parameter=known.get("parameter"),
        level=None if level is None else float(level),
        seed=known.get("seed", 0),
        name=known.get("name", ""),
        inputs=tuple(known.get("inputs", ())),
        state=known.get("state", MISSING),
        rows=tuple(Row.from_dict(row) for row in known.get("rows", ())),
        guarantee=known.get("guarantee"),
        sentence=known.get("sentence"),
        scores=known.get("scores"),
        details=known.get("details") or {},
        error=known.get("error"),
        seconds=known.get("seconds"),
        cpu_seconds=known.get("cpu_seconds"),
        peak_memory=known.get("peak_memory"),
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except ValueError:
        raise BadInput(f"{path} is damaged: it is not JSON") from None


def finished_keys(folder: StudyFolder) -> Iterator[str]:
    """The keys of cells that are done or have failed, without reading what they found."""
    cells = folder.path / "cells"
    if cells.is_dir():
        for path in cells.glob("*/cell.json"):
            yield path.parent.name
