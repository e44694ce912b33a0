"""The tables of ``docs/results/groups.md``, from a study that ``groups.toml`` describes.

    python studies/groups_page.py STUDY

STUDY is the folder that 'sfumato study run' has filled, in part or whole. Figures are means over
seeds with their 95 % intervals, as calibrations and reports have them; the gap is between the group
that fares best and the one that fares worst, with the interval of that difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.reports.sections.groups import gaps_of
from sfumato.reports.series import SeriesPoint, points, quantities
from sfumato.results.row import Row
from sfumato.studies.cell import RUN
from sfumato.studies.expected import spoken
from sfumato.studies.folder import DONE, CellRecord, StudyFolder

METRIC = "accuracy"


def main() -> None:
    """Print all tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    for line in tables(StudyFolder(parser.parse_args().study)):
        print(line, flush=True)


def tables(folder: StudyFolder) -> Iterator[str]:
    """All tables, each with a heading."""
    cells = folder.cells()
    done = [cell for cell in cells if cell.state == DONE]
    rows = [row for row in folder.rows() if row.metric == METRIC]
    yield "## Accuracy of each group\n"
    yield from by_group(rows)
    yield "\n## The gap\n"
    yield from gap_table(rows)
    yield "\n## Levels\n"
    yield from levels([cell for cell in done if cell.kind == RUN])
    seconds = sum(cell.seconds or 0.0 for cell in done)
    processor = sum(cell.cpu_seconds or 0.0 for cell in done)
    yield (
        f"\n{len(done)} of {len(cells)} computations are done, in {spoken(seconds)}, of which "
        f"{spoken(processor)} of processor time."
    )


def by_group(rows: Sequence[Row]) -> Iterator[str]:
    """Every group, and all documents, by method and level."""
    names = sorted({row.group or "" for row in rows})
    sizes = {name: max(row.n for row in rows if (row.group or "") == name) for name in names}
    head = (f"{name or 'all'} (n = {sizes[name]:,})" for name in names)
    yield "| ε | groups count | " + " | ".join(head) + " |"
    yield "|---|---|" + "---|" * len(names)
    found = _points(rows)
    for level, method in places(rows):
        here = {
            point.group or "": point
            for point in found
            if (point.level, point.method) == (level, method)
        }
        told = (_shown(here.get(name)) for name in names)
        yield f"| {_level(level)} | {method} | " + " | ".join(told) + " |"


def gap_table(rows: Sequence[Row]) -> Iterator[str]:
    """The worst group and the gap, by method and level."""
    quantity = next(iter(quantities(rows)), None)
    if quantity is None:
        yield "Nothing is measured yet."
        return
    gaps = {
        (gap.best.level, gap.best.method): gap
        for gap in gaps_of([point for point in _points(rows) if point.group], quantity)
    }
    yield "| ε | groups count | gap | best | worst | seeds |"
    yield "|---|---|---|---|---|---|"
    for level, method in places(rows):
        gap = gaps[level, method]
        ends = gap.interval
        interval = "" if ends is None else f" ({ends[0]:.3f} – {ends[1]:.3f})"
        told = (
            f"{gap.width:.3f}{interval} | {gap.best.group} | {gap.worst.group} | {gap.best.seeds}"
        )
        yield f"| {_level(level)} | {method} | {told} |"


def levels(runs: Sequence[CellRecord]) -> Iterator[str]:
    """What is proven for everybody, and for a record whose group is known."""
    yield "| ε | groups count | noise multiplier | ε by group |"
    yield "|---|---|---|---|"
    seen = set()
    for cell in sorted(runs, key=lambda one: (-(one.level or 0), one.method or "")):
        if cell.level is None or (cell.level, cell.method) in seen:
            continue
        seen.add((cell.level, cell.method))
        noise = min(stage["noise_multiplier"] for stage in cell.details["plan"]["stages"])
        known = cell.details.get("epsilon_by_group", {})
        told = ", ".join(f"{name} {one:.3f}" for name, one in known.items())
        yield f"| {cell.level:g} | {cell.method} | {noise:.3f} | {told or 'the same'} |"


def places(rows: Sequence[Row]) -> list[tuple[float | None, str]]:
    """Levels from none to the smallest, each with its methods."""
    found = dict.fromkeys((row.level, row.method) for row in rows)
    return sorted(found, key=lambda one: (one[0] is not None, -(one[0] or 0), one[1]))


def _points(rows: Sequence[Row]) -> list[SeriesPoint]:
    return [point for quantity in quantities(rows) for point in points(rows, quantity)]


def _level(level: float | None) -> str:
    return "none" if level is None else f"{level:g}"


def _shown(point: SeriesPoint | None) -> str:
    if point is None:
        return ""
    if point.low is None or point.high is None:
        return f"{point.value:.3f}"
    return f"{point.value:.3f} ({point.low:.3f} – {point.high:.3f})"


if __name__ == "__main__":
    main()
