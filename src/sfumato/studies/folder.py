"""The folder of a study: the grid, the finished cells, and the figures.

::

    OUT/
      study.json             the study's file, versions, and every cell of the grid
      cells/KEY/cell.json    the result of a cell, written last; without it the cell is unfinished
      cells/KEY/…            what the cell made: a privatized text, the folder of a training run
      locks/KEY              held by the process that computes the cell, freed when that ends
      results.jsonl          the figures of all finished cells, one row each
      results.parquet        the same, if pyarrow is installed
      report.html            the report

Care
    A corpus that is neither generated nor declared public is read from its own file and never
    copied; the anchor "no privacy" is a link to it. Privatized texts contain what their policy did
    not find and what their level let through. Models that were trained without noise may have
    memorized the text. Rows name groups as the data do, and these may be names of people. The
    figures were measured on private text. No guarantee covers them, or how long a cell took. So the
    folder of a study is as private as the corpus, and is for its owner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, get_args, get_type_hints

from sfumato.core.errors import BadInput, SfumatoError, StorageFailed
from sfumato.core.files import reading, write_whole
from sfumato.core.json import read_object
from sfumato.results.row import COST, LOWER, Row
from sfumato.studies.cell import Cell
from sfumato.studies.locks import hold_lock

SCHEMA = 1
DONE, FAILED, MISSING = "done", "failed", "missing"
# Kinds of cells that make something and measure nothing. Their figure is the time they took.
_MADE = ("release", "run")


@dataclass(frozen=True, kw_only=True)
class CellRecord:
    """A cell of the grid, with its result if it is finished.

    ``inputs`` are the keys of the cells it is computed from. ``scores`` are an attack's, as it
    writes them; ``error`` has a type and a message that quotes no text.
    """

    key: str
    kind: str
    corpus: str | None = None
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

    @property
    def title(self) -> str:
        """The title of the cell, for people."""
        return Cell(
            kind=self.kind,
            corpus=self.corpus or "",
            method=self.method,
            parameter=self.parameter,
            level=self.level,
            seed=self.seed,
            name=self.name,
        ).title

    @property
    def why(self) -> str:
        """Why it failed."""
        error = self.error or {}
        return f"{error.get('type')}: {error.get('message')}"


@dataclass(frozen=True)
class StudyFolder:
    """Reads the results of a study; a cell without a record is missing."""

    path: Path

    @property
    def description(self) -> Path:
        """The file with the grid and its provenance."""
        return self.path / "study.json"

    @property
    def results(self) -> Path:
        """The file with all figures."""
        return self.path / "results.jsonl"

    def cell(self, key: str) -> Path:
        """The folder of one cell."""
        return self.path / "cells" / key

    def record(self, key: str) -> Path:
        """The file that marks a cell as finished."""
        return self.cell(key) / "cell.json"

    def spent(self, key: str) -> Path:
        """The note of how long a cell that is not finished has taken so far."""
        return self.cell(key) / "spent.json"

    def lock(self, key: str) -> Path:
        """The lock that is held while a cell is computed."""
        return self.path / "locks" / key

    def study(self) -> dict[str, Any]:
        """The content of ``study.json``, checked."""
        if not self.description.is_file():
            raise StorageFailed(
                f"{self.path} is not the folder of a study: it has no {self.description.name}"
            )
        found = read_object(self.description, "the description of a study")
        if found.get("schema") != SCHEMA:
            raise BadInput(f"{self.description} was not written by this version")
        return found

    def cells(self) -> list[CellRecord]:
        """Every cell of the grid, in its order."""
        entries = self._entries()
        found = {key: self._written(key) for key in {str(entry["key"]) for entry in entries}}
        with reading(self.description, "the description of a study"):
            return [self._cell(entry, found) for entry in entries]

    def rows(self) -> list[Row]:
        """The figures of all finished cells, in the order of the grid."""
        return [row for cell in self.cells() for row in cell.rows]

    def seconds(self, key: str) -> float:
        """How long a finished cell took; 0 if its record cannot be read."""
        try:
            return float(read_object(self.record(key), "the record of a cell")["seconds"] or 0.0)
        except (OSError, ArithmeticError, ValueError, KeyError, TypeError, RecursionError):
            return 0.0  # damaged, or deleted by another command at this moment

    def _entries(self) -> list[dict[str, Any]]:
        entries = self.study().get("cells")
        if isinstance(entries, list) and all(
            isinstance(one, dict) and {"key", "inputs"} <= set(one) and _is_name(one["key"])
            for one in entries
        ):
            return entries
        raise BadInput(f"{self.description} is damaged: its list of cells cannot be read")

    def _written(self, key: str) -> dict[str, Any]:
        path = self.record(key)
        return read_object(path, "the record of a cell") if path.is_file() else {}

    def _cell(self, entry: Mapping[str, Any], found: Mapping[str, dict[str, Any]]) -> CellRecord:
        # The names in this grid take precedence: another method may share the computation.
        known = found[str(entry["key"])] | dict(entry)
        # The guarantee of a text or a model is stated with everything measured on it.
        of_target = [found.get(str(one), {}).get("sentence") for one in entry["inputs"][1:]]
        with reading(self.record(str(entry["key"])), "the record of a cell, or of another version"):
            try:
                return _cell_record(known, known.get("sentence") or next(iter(of_target), None))
            except SfumatoError:
                raise ValueError from None  # reported like any other damage, with the file's name


def _is_name(key: object) -> bool:
    """Whether a key is a plain name, which cannot lead to another folder."""
    return isinstance(key, str) and Path(key).name == key


def _cell_record(known: Mapping[str, Any], sentence: str | None) -> CellRecord:
    level = known.get("level")
    place = {
        "cell": known["key"],
        "corpus": known.get("corpus"),
        "method": known["method"],
        "parameter": known.get("parameter"),
        "level": level,
        "seed": known.get("seed", 0),
    }
    cost = {name: known.get(name) for name in ("seconds", "cpu_seconds", "peak_memory")}
    state = known.get("state", MISSING)
    rows = [
        Row.from_dict(row | place | cost | {"guarantee": sentence}) for row in known.get("rows", ())
    ]
    if state == DONE and known["kind"] in _MADE:
        took = {"role": COST, "by": known["kind"], "metric": "seconds", "better": LOWER}
        value = {"value": known.get("seconds"), "guarantee": sentence}
        rows.append(Row.from_dict(took | value | place | cost))
    return CellRecord(
        key=known["key"],
        kind=known["kind"],
        corpus=known.get("corpus"),
        method=known["method"],
        parameter=known.get("parameter"),
        level=None if level is None else float(level),
        seed=known.get("seed", 0),
        name=known.get("name", ""),
        inputs=tuple(known.get("inputs", ())),
        state=state,
        rows=tuple(rows),
        guarantee=known.get("guarantee"),
        sentence=sentence,
        scores=known.get("scores"),
        details=known.get("details") or {},
        error=known.get("error"),
        **cost,
    )


def collect(folder: StudyFolder) -> list[Row]:
    """Write ``results.jsonl``, and ``results.parquet`` if there is pyarrow, from finished cells."""
    # Two commands may end at the same time.
    with hold_lock(folder.lock("results"), wait=True):
        rows = folder.rows()
        lines = "".join(json.dumps(row.as_dict(), ensure_ascii=False) + "\n" for row in rows)
        write_whole(folder.results, lines.encode())
        if find_spec("pyarrow") is not None:
            write_whole(folder.results.with_suffix(".parquet"), _parquet(rows))
    return rows


def _parquet(rows: list[Row]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    hints = get_type_hints(Row)
    # The types are fixed, so that an empty column does not get another type.
    kinds = {str: pyarrow.string(), float: pyarrow.float64(), int: pyarrow.int64()}
    kinds |= {tuple[float, ...]: pyarrow.list_(pyarrow.float64())}
    schema = pyarrow.schema(
        [(field.name, kinds[_type(hints[field.name])]) for field in fields(Row)]
    )
    content = BytesIO()
    table = pyarrow.Table.from_pylist([asdict(row) for row in rows], schema=schema)
    pyarrow.parquet.write_table(table, content)
    return content.getvalue()


def _type(hint: Any) -> Any:
    return next((one for one in get_args(hint) if one is not type(None)), hint)
