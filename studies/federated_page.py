"""The tables of ``docs/results/federated.md``, from a study that ``federated.toml`` describes.

    python studies/federated_page.py STUDY

STUDY is the folder that 'sfumato study run' has filled, in part or whole. Figures are means over
seeds with their 95 % intervals, as reports have them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

from sfumato.reports.series import SeriesPoint, points, quantities
from sfumato.studies.cell import RUN
from sfumato.studies.expected import spoken
from sfumato.studies.folder import DONE, StudyFolder

METRICS = ("perplexity", "accuracy", "auc loss")
MEMBERS, OTHERS = 1000, 300


def spread(members: int, others: int) -> float:
    """The standard error of an AUC where there is nothing to find (Mann and Whitney 1947).

    >>> round(spread(1000, 300), 3)
    0.019
    """
    return math.sqrt((members + others + 1) / (12 * members * others))


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    for line in table(StudyFolder(parser.parse_args().study)):
        print(line)


def table(folder: StudyFolder) -> Iterator[str]:
    """What could be seen, every figure by method and level, then what is proven."""
    yield (
        f"Power: with {MEMBERS:,} dialogues of authors and {OTHERS} others, an AUC that is 0.5 has "
        f"an interval of ± {1.96 * spread(MEMBERS, OTHERS):.3f}; smaller leaks cannot be seen.\n"
    )
    rows = [row for row in folder.rows() if row.metric in METRICS and row.group is None]
    yield "| figure | training | ε | mean over seeds (95 %) | seeds |"
    yield "|---|---|---|---|---|"
    for quantity in quantities(rows):
        found = points(rows, quantity)
        for one in sorted(found, key=lambda point: (point.level is not None, point.method)):
            level = "none" if one.level is None else f"{one.level:g}"
            told = f"{quantity.metric} | {one.method} | {level} | {_shown(one)} | {one.seeds}"
            yield f"| {told} |"
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
