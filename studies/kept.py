"""What a study found, small enough to be kept: the file that pages are written from.

    python studies/kept.py STUDY -o studies/figures/NAME.json
    python studies/kept.py STUDY --earlier OLD.json -o studies/figures/NAME.json

STUDY is the folder that 'sfumato study run' has filled, in part or whole. Kept are the figures,
what each model was trained with and how long it took, and nothing of texts. Where a study compares
texts with their originals, places are counted, too (``staying``). The page of a study is a function
of this file, and a test writes it again.

A study of several nights may be computed on several machines, of which each has a folder of its
own. With --earlier, what STUDY lacks is taken from a file that was kept before, if the study still
has such a cell: of the same method, level and seed. Whoever changes the settings of a method does
not join the two: no file says with what other settings it was computed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.core.files import write_whole
from sfumato.reports.series import SeriesPoint, points, quantities
from sfumato.results.row import COST, Row
from sfumato.studies.cell import RELEASE, RUN, SYNTHETIC, Cell
from sfumato.studies.folder import DONE, CellRecord, StudyFolder
from staying import staying

# Of a row only what tables show; a sentence about what is guaranteed is long and the same for all.
KEPT = (
    *("corpus", "method", "parameter", "level", "seed", "role", "by", "metric", "better"),
    *("cell", "value", "low", "high", "n", "chance", "least", "most", "units"),
)
DIGITS = 6
TRAINING = ": training"
# Losses are kept by document if there are so few that a page compares models by them.
DOCUMENTS = 100
# Of what is proven: whose notion of privacy, for what, and how much.
PROVEN = ("notion", "unit", "epsilon", "delta")


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    parser.add_argument("--earlier", type=Path, help="a kept file, for what the folder lacks")
    given = parser.parse_args()
    kept = collect(StudyFolder(given.study))
    if given.earlier is not None:
        kept = join(kept, json.loads(given.earlier.read_text("utf-8")))
    content = json.dumps(kept, indent=1, ensure_ascii=False)
    write_whole(given.output, (content + "\n").encode())


def collect(folder: StudyFolder) -> dict[str, Any]:
    """All that is kept of a study."""
    cells, described = folder.cells(), folder.study()
    rows = [*folder.rows(), *staying(folder)]
    done = [cell for cell in cells if cell.state == DONE]
    return {
        "title": described["title"],
        "command": described["command"],
        "cells": len(cells),
        "done": len(done),
        "seconds": round(sum(cell.seconds or 0.0 for cell in done)),
        "cpu_seconds": round(sum(cell.cpu_seconds or 0.0 for cell in done)),
        "missing": sorted({cell.title for cell in cells if cell.state != DONE}),
        "runs": [_run(cell, done) for cell in done if cell.kind == RUN],
        "documents": [_losses(cell) for cell in done if _is_short(cell)],
        "rows": [_kept(row) for row in rows if row.role != COST],
    }


def _is_short(cell: CellRecord) -> bool:
    """Whether this is a model's perplexity on few documents."""
    told = cell.details
    return "tokens" in told and 0 < len(told.get("losses") or ()) <= DOCUMENTS


def _losses(cell: CellRecord) -> dict[str, Any]:
    place = {
        "corpus": cell.corpus, "method": cell.method, "level": cell.level, "seed": cell.seed,
    }  # fmt: skip
    return place | {key: cell.details[key] for key in ("losses", "tokens")}


def join(now: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept now, with the models that it lacks from an earlier file.

    A model is taken whole, with its training and all of its figures, or not at all: figures of two
    machines never speak of one model.
    """
    lacking = {title for title in now["missing"] if title.endswith(TRAINING)}
    # Older files say of figures, but not of runs, what their level is a level of.
    levels = {
        (row["method"], row["level"]): row["parameter"]
        for row in earlier["rows"]
        if "parameter" in row and "level" in row
    }
    known = [
        {"parameter": levels.get((run["method"], run["level"]), "epsilon"), **run}
        for run in earlier["runs"]
    ]
    runs = [run for run in known if _title(run) in lacking]
    models = {_place(run) for run in runs}
    ranges = {row["metric"]: _range(row) for row in now["rows"]}
    rows = [
        {**ranges.get(row["metric"], {}), **row}
        for row in earlier["rows"]
        if (row["method"], row.get("level"), row.get("seed")) in models
    ]
    taken = {_title(run).removesuffix(TRAINING) for run in runs}
    still = set(earlier["missing"])
    missing = [
        title for title in now["missing"] if title in still or title.rpartition(":")[0] not in taken
    ]
    return {
        **now,
        "done": now["done"] + len(now["missing"]) - len(missing),
        "seconds": now["seconds"] + sum(run["seconds"] for run in runs),
        "cpu_seconds": now["cpu_seconds"] + sum(run["cpu_seconds"] for run in runs),
        "missing": missing,
        "runs": [*now["runs"], *runs],
        "documents": [
            *now.get("documents", ()),
            *(one for one in earlier.get("documents", ()) if _place(one) in models),
        ],
        "rows": [*now["rows"], *rows],
        "elsewhere": sorted(taken),
    }


def _place(one: Mapping[str, Any]) -> tuple[str, float | None, int]:
    return one["method"], one["level"], one["seed"]


def _range(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a figure can be at the least and at the most, which older files do not say."""
    return {end: row[end] for end in ("least", "most") if end in row}


def _title(run: Mapping[str, Any]) -> str:
    """The title of the cell that a run was."""
    named = {key: run[key] for key in ("method", "parameter", "level", "seed")}
    return Cell(kind=RUN, **named).title


def _run(cell: CellRecord, done: Iterable[CellRecord]) -> dict[str, Any]:
    """What a model was trained with; ``text_cpu_seconds`` is for making the text, if one was."""
    made = [
        one.cpu_seconds or 0.0
        for one in done
        if one.key in cell.inputs and one.kind in (RELEASE, SYNTHETIC)
    ]
    stated = cell.guarantee or {}
    plan = cell.details.get("plan") or {}
    return {
        "method": cell.method,
        "parameter": cell.parameter,
        "level": cell.level,
        "seed": cell.seed,
        "seconds": round(cell.seconds or 0.0),
        "cpu_seconds": round(cell.cpu_seconds or 0.0),
        "stages": plan.get("stages", []),
        "units": plan.get("units"),
        "delta": plan.get("delta"),
        "proven": {key: _short(stated[key]) for key in PROVEN if key in stated},
        **({"text_cpu_seconds": round(sum(made), 1)} if made else {}),
    }


def _kept(row: Row) -> dict[str, Any]:
    written = row.as_dict()
    return {key: _short(written[key]) for key in KEPT if written[key] is not None}


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return [_short(one) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures of a study, to be looked up by method, level and metric.

    They do not change, so what is reckoned from them may be kept.
    """

    content: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Figures:
        """From a file that this script wrote."""
        return cls(json.loads(path.read_text("utf-8")))

    @cached_property
    def rows(self) -> list[Row]:
        """All rows."""
        return [Row.from_dict(one) for one in self.content["rows"]]

    @cached_property
    def _points(self) -> dict[tuple[str | None, str, float | None, str], SeriesPoint]:
        found = {}
        for corpus in dict.fromkeys(row.corpus for row in self.rows):
            here = [row for row in self.rows if row.corpus == corpus]
            for quantity in quantities(here):
                for one in points(here, quantity):
                    found[corpus, one.method, one.level, quantity.metric] = one
        return found

    def point(
        self, method: str, level: float | None, metric: str, corpus: str | None = None
    ) -> SeriesPoint | None:
        """The mean over seeds with its interval; None if it was not computed."""
        return self._points.get((corpus, method, level, metric))

    def by_seed(self, method: str, level: float | None, metric: str) -> dict[int, list[float]]:
        """The values of all units, such as secrets, in the model of each seed."""
        return self._units.get((method, level, metric), {})

    @cached_property
    def _units(self) -> dict[tuple[str, float | None, str], dict[int, list[float]]]:
        found: dict[tuple[str, float | None, str], dict[int, list[float]]] = {}
        for row in self.rows:
            if row.units:
                of_model = found.setdefault((row.method, row.level, row.metric), {})
                of_model[row.seed] = list(row.units)
        return found

    @cached_property
    def settings(self) -> list[tuple[str, str | None, float | None]]:
        """Method, parameter and level of everything but the anchors, in the order of the study."""
        return list(
            dict.fromkeys(
                (row.method, row.parameter, row.level) for row in self.rows if not row.anchor
            )
        )

    def values(self, method: str, level: float | None, metric: str) -> dict[int, float]:
        """The figure of each seed."""
        return self._values.get((method, level, metric), {})

    @cached_property
    def _values(self) -> dict[tuple[str, float | None, str], dict[int, float]]:
        found: dict[tuple[str, float | None, str], dict[int, float]] = {}
        for row in self.rows:
            if row.value is not None:
                of_method = found.setdefault((row.method, row.level, row.metric), {})
                of_method[row.seed] = row.value
        return found

    def places(self) -> list[tuple[str, float | None]]:
        """Methods and levels in the order of the study."""
        return list(dict.fromkeys((row.method, row.level) for row in self.rows))

    def asks_for(self, method: str, level: float) -> bool:
        """Whether the study has such a model, computed or not."""
        wanted = f"{method}, epsilon {level:g}, seed "
        return (method, level) in self.places() or any(
            title.startswith(wanted) for title in self.content["missing"]
        )

    def missing(self) -> list[str]:
        """The models that were not trained yet, each with its seeds."""
        seeds: dict[str, list[str]] = {}
        for title in self.content["missing"]:
            if title.endswith(TRAINING):
                name, _, seed = title.removesuffix(TRAINING).rpartition(", seed ")
                seeds.setdefault(name, []).append(seed)
        return [
            f"{name} (seed{'s' if len(some) > 1 else ''} {', '.join(some)})"
            for name, some in seeds.items()
        ]

    def runs(self, method: str, level: float | None) -> Sequence[Mapping[str, Any]]:
        """The training runs of a method at a level."""
        return [
            one for one in self.content["runs"] if (one["method"], one["level"]) == (method, level)
        ]


def steps_of(runs: Iterable[Mapping[str, Any]]) -> str:
    """How many private steps the runs took, each of them.

    >>> steps_of([{"stages": [{"steps": 10}, {"steps": 5}]}, {"stages": [{"steps": 14}]}])
    '14 to 15'
    """
    counts = sorted({sum(stage["steps"] for stage in run["stages"]) for run in runs})
    return " to ".join(str(one) for one in dict.fromkeys((*counts[:1], *counts[-1:]))) or "no"


def told_apart(first: SeriesPoint, second: SeriesPoint) -> bool | None:
    """Whether the intervals of two figures do not meet; None if one has no interval."""
    one, other = first.telling, second.telling
    if one is None or other is None:
        return None
    return one[0] > other[1] or other[0] > one[1]


def shown(point: SeriesPoint | None, digits: int = 3) -> str:
    """A mean with its interval, to so many digits that count.

    >>> shown(None)
    '–'
    """
    if point is None:
        return "–"
    if point.low is None or point.high is None:
        return number(point.value, digits)
    low, high = number(point.low, digits), number(point.high, digits)
    return f"{number(point.value, digits)} ({low} – {high})"


def number(value: float, digits: int = 3) -> str:
    """A number to so many digits that count, with commas from a thousand on.

    >>> number(2.0446), number(1234.5), number(0.49996), number(162000)
    ('2.04', '1,234', '0.500', '162,000')
    """
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(line) + " |" for line in lines),
    ]


if __name__ == "__main__":
    main()
