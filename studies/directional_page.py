"""The tables of ``docs/results/directional.md``, from a study that ``directional.toml`` describes.

    python studies/directional_page.py STUDY

STUDY is the folder that 'sfumato study run' has filled, in part or whole. Figures are means over
seeds with their 95 % intervals, as calibrations and reports have them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.accounting.directional import match_kappa
from sfumato.calibration.curves import LevelEstimate, estimate_of
from sfumato.core.errors import BadInput
from sfumato.results.row import Row
from sfumato.studies.cell import RUN
from sfumato.studies.expected import spoken
from sfumato.studies.folder import DONE, CellRecord, StudyFolder
from sfumato.training.plan import quietly
from sfumato.training.settings import Privacy
from sfumato.verbs.calibrate import calibrate

CORPORA = {"sst2": "SST-2", "cola": "CoLA"}
UTILITY = {"sst2": "accuracy", "cola": "matthews"}
LEAKAGE = {
    "right guesses": "somebody who sees each record's draw",
    "right guesses from sums": "somebody who sees the sum of each step",
}
TARGETS = (0.5, 0.2, 0.1, 0.05)
# How many numbers are trained here, and trained and attacked in the paper (BERT, GPT-2).
OURS, PAPER = 148_610, {"BERT": (592_130, 108_000_000), "GPT-2": (3_072, 124_000_000)}
BATCH = 128
# Table 7 of the paper, with sizes and epochs from its tables 5 and 6.
LEVELS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
PUBLISHED = {
    ("GPT-2", "CoLA", 5056, 30): (3.06, 0.747, 0.347, 0.173, 0.112, 0.066, 0.024),
    ("GPT-2", "IMDb", 22500, 5): (1.01, 0.472, 0.226, 0.121, 0.089, 0.052, 0.019),
    ("GPT-2", "SST-2", 53710, 3): (0.957, 0.458, 0.234, 0.127, 0.096, 0.072, 0.034),
    ("BERT", "CoLA", 5056, 10): (1.191, 0.615, 0.278, 0.140, 0.092, 0.043, 0.014),
    ("BERT", "IMDb", 22500, 5): (0.993, 0.460, 0.216, 0.116, 0.086, 0.072, 0.016),
    ("BERT", "SST-2", 53710, 4): (1.00, 0.478, 0.254, 0.137, 0.101, 0.078, 0.042),
}


def main() -> None:
    """Print all tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    for line in tables(StudyFolder(parser.parse_args().study)):
        print(line, flush=True)


def tables(folder: StudyFolder) -> Iterator[str]:
    """All tables, each with a heading."""
    rows, cells = folder.rows(), {cell.key: cell for cell in folder.cells()}
    done = [cell for cell in cells.values() if cell.state == DONE]
    yield "## The noise"
    yield ""
    yield from noise_table([cell for cell in done if cell.kind == RUN])
    for corpus, name in CORPORA.items():
        mine = [row for row in rows if row.corpus == corpus and row.group is None]
        if not mine:
            continue
        for metric in (UTILITY[corpus], *LEAKAGE, "auc loss"):
            yield f"\n## {name}: {metric}\n"
            yield from table([row for row in mine if row.metric == metric])
        yield from fitness_of_membership(folder, corpus)
        for metric in LEAKAGE:
            yield f"\n## {name}: at equal {metric}\n"
            yield from at_equal(folder, corpus, metric)
    yield "\n## κ across dimensions\n"
    yield from across_dimensions()
    yield "\n## Table 7 of the paper\n"
    yield from table_seven()
    seconds = sum(cell.seconds or 0.0 for cell in done)
    processor = sum(cell.cpu_seconds or 0.0 for cell in done)
    yield (
        f"\n{len(done)} of {len(cells)} computations are done, in {spoken(seconds)}, of which "
        f"{spoken(processor)} of processor time."
    )


def noise_table(runs: Sequence[CellRecord]) -> Iterator[str]:
    """Sigma, the concentration that matches it with its number of dimensions, and proven levels."""
    levels = sorted({cell.level for cell in runs if cell.level is not None})
    yield "| σ | " + " | ".join(f"{level:g}" for level in levels) + " |"
    yield "|---|" + "---|" * len(levels)
    kappas = " | ".join(f"{match_kappa(level, OURS):,.0f}" for level in levels)
    yield f"| κ for d = {OURS:,} | {kappas} |"
    for corpus, name in CORPORA.items():
        for method in dict.fromkeys(cell.method for cell in runs if cell.level is not None):
            proven = {
                cell.level: cell.guarantee["epsilon"]
                for cell in runs
                if (cell.corpus, cell.method) == (corpus, method) and cell.guarantee
            }
            if proven:
                told = (f"{proven[level]:,.4g}" if level in proven else "" for level in levels)
                yield f"| ε, {name}, {method} | " + " | ".join(told) + " |"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A figure of every method at every level."""
    levels = sorted({row.level for row in rows if row.level is not None})
    yield "| σ | none | " + " | ".join(f"{level:g}" for level in levels) + " |"
    yield "|---|---|" + "---|" * len(levels)
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        told = (
            shown(estimate_of([row for row in mine if row.level == level]))
            for level in (None, *levels)
        )
        yield f"| {method} | " + " | ".join(told) + " |"


def shown(found: LevelEstimate | None) -> str:
    """A figure with its interval."""
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return "no interval"
    return f"{found.value:.3f} ({found.low:.3f} – {found.high:.3f})"


def at_equal(folder: StudyFolder, corpus: str, metric: str) -> Iterator[str]:
    """Every method at the amount of noise where the attack guesses as often as a target says."""
    try:
        found = calibrate(
            folder.path,
            attack="gradient-candidates",
            metric=metric,
            target=TARGETS,
            utility=UTILITY[corpus],
            corpus=corpus,
        )
    except BadInput as error:  # as long as the study is not far enough
        yield str(error)
        return
    yield f"| {metric} | method | σ | {UTILITY[corpus]} |"
    yield "|---|---|---|---|"
    for place, target in enumerate(TARGETS):
        for method in found.methods:
            at = method.targets[place]
            noise = at.inversion
            if noise.level is None:
                yield f"| {target:g} | {method.name} | {noise.status} | |"
                continue
            low, high = (
                "" if end is None else f"{'≤ ' if is_open and side == 'low' else ''}"
                f"{'≥ ' if is_open and side == 'high' else ''}{end:.3g}"
                for end, is_open, side in (
                    (noise.low, noise.open_low, "low"),
                    (noise.high, noise.open_high, "high"),
                )
            )  # fmt: skip
            mark = " and on" if at.utility_open else ""
            yield (
                f"| {target:g} | {method.name} | {noise.level:.3g} ({low} – {high}) | "
                f"{shown(at.utility)}{mark} |"
            )
    for method in found.methods:
        yield f"\n{method.name}: {method.fitness.verdict} for calibration, {method.fitness.why}"


def fitness_of_membership(folder: StudyFolder, corpus: str) -> Iterator[str]:
    """Whether methods could be set by what membership attacks find."""
    try:
        found = calibrate(folder.path, attack="membership", metric="auc loss", corpus=corpus)
    except BadInput as error:
        yield str(error)
        return
    for method in found.methods:
        yield f"\n{method.name}: {method.fitness.verdict} for calibration, {method.fitness.why}"


def across_dimensions() -> Iterator[str]:
    """How much more noise the same setting is in the paper's attacks than in its utility."""
    yield "| | trained | attacked | noise of the same κ, attacked / trained |"
    yield "|---|---|---|---|"
    for name, (trained, attacked) in PAPER.items():
        yield f"| {name} | {trained:,} | {attacked:,} | {math.sqrt(attacked / trained):.1f} |"
    yield f"\nNoise once for {BATCH} records against once for each: {math.sqrt(BATCH):.1f}."


def table_seven() -> Iterator[str]:
    """The noise multiplier for a level by the paper's settings, and the published one."""
    yield "| model, corpus | " + " | ".join(f"ε = {level:g}" for level in LEVELS) + " |"
    yield "|---|" + "---|" * len(LEVELS)
    for (model, corpus, records, epochs), published in PUBLISHED.items():
        told = []
        for level, theirs in zip(LEVELS, published, strict=True):
            asked = Privacy(
                epsilon=level,
                delta=1 / records,
                epochs=epochs,
                batch_sizes=(BATCH,),
                accountant="rdp",
            )
            with quietly():  # a delta of 1/n is the paper's
                told.append(f"{asked.plan(records).noise_multiplier:.3g} ({theirs:g})")
        yield f"| {model}, {corpus} | " + " | ".join(told) + " |"


if __name__ == "__main__":
    main()
