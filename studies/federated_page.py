"""The tables of ``docs/results/federated.md``, from a study that ``federated.toml`` describes.

    python studies/federated_page.py STUDY

STUDY is the folder that 'sfumato study run' has filled, in part or whole. Figures are means over
seeds with their 95 % intervals, as reports have them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from sfumato.reports.series import SeriesPoint, points, quantities
from sfumato.studies.cell import RUN
from sfumato.studies.folder import DONE, StudyFolder
from sfumato.studies.watch import spoken

METRICS = ("perplexity", "accuracy", "auc loss")


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    for line in table(StudyFolder(parser.parse_args().study)):
        print(line)


def table(folder: StudyFolder) -> Iterator[str]:
    """Every figure by method and level, then what is proven."""
    rows = [row for row in folder.rows() if row.metric in METRICS and row.group is None]
    found = [point for quantity in quantities(rows) for point in points(rows, quantity)]
    yield "| training | ε | figure | mean over seeds (95 %) | seeds |"
    yield "|---|---|---|---|---|"
    for one in sorted(found, key=lambda point: (point.metric, point.method, point.level or 0)):
        level = "none" if one.level is None else f"{one.level:g}"
        yield f"| {one.method} | {level} | {one.metric} | {_shown(one)} | {one.seeds} |"
    cells = folder.cells()
    done = [cell for cell in cells if cell.state == DONE]
    noise = {
        f"{cell.method} {cell.level:g}": cell.details["plan"]["stages"][0]["noise_multiplier"]
        for cell in done
        if cell.kind == RUN and cell.level is not None
    }
    yield f"\nNoise multipliers: {noise}"
    processor = sum(cell.cpu_seconds or 0.0 for cell in done)
    yield f"{len(done)} of {len(cells)} cells are done, in {spoken(processor)} of processor time."


def _shown(point: SeriesPoint) -> str:
    if point.low is None or point.high is None:
        return f"{point.value:.3f}"
    return f"{point.value:.3f} ({point.low:.3f} – {point.high:.3f})"


if __name__ == "__main__":
    main()
