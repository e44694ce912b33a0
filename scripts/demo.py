"""The main job from end to end: ``make demo``.

Runs ``studies/demo.toml``: generates customer dialogues with planted secrets, privatizes all words
(metric DP) and the selected words (selective metric DP), trains a small public model on them
without privacy, with DP-SGD and selectively, attacks all of them, compares them at equal leakage
and writes one page about it. Everything is in ``demo/``. The last lines say what was found, and
what of the expected picture was not.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from sfumato.calibration.curves import LevelEstimate, estimate_of
from sfumato.cli.main import main as sfumato
from sfumato.results.row import ANCHORS, NO_PRIVACY, Row
from sfumato.studies.folder import StudyFolder
from sfumato.studies.watch import spoken

FOLDER = Path("demo")
STUDY = FOLDER / "study"
PAGE = FOLDER / "report.html"
EXPOSED = "exposure at 4 repetitions"


def run(*arguments: str | Path) -> None:
    """Show a command and run it."""
    written = [str(one) for one in arguments]
    print(f"\n$ sfumato {shlex.join(written)}", flush=True)
    code = sfumato(written)
    if code:
        sys.exit(code)


def main() -> None:
    """Run the demonstration."""
    began = time.perf_counter()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    FOLDER.mkdir()
    workers = str(os.cpu_count() or 1)
    run("study", "run", Path("studies") / "demo.toml", "-o", STUDY, "--workers", workers)
    run("calibrate", STUDY, "--attack", "deniability", "--target", "0.5")
    run("report", STUDY, "-o", PAGE)
    print("\n" + "\n".join(summary(StudyFolder(STUDY), time.perf_counter() - began)))


def summary(folder: StudyFolder, seconds: float) -> list[str]:
    """What was found, in a line for each method."""
    rows = folder.rows()
    cells = len({cell.key for cell in folder.cells()})
    methods = dict.fromkeys(row.method for row in rows if not row.anchor and row.method)
    chance = next(row.chance for row in rows if row.metric == EXPOSED)
    return [
        f"{cells} computations in {spoken(seconds)}. Perplexity on new dialogues, and bits of a "
        f"secret, planted four times, that the model gives away (chance gives {chance:.1f} of "
        "13.3):",
        *(f"  {method}: {_pair(rows, method)}" for method in ANCHORS),
        *(f"  {method}: {_at_levels(rows, method)}" for method in methods),
        *surprises(rows),
        f"The report is in {PAGE.resolve()}",
    ]


def surprises(rows: Iterable[Row]) -> list[str]:
    """What of the expected picture these figures do not show."""
    some = list(rows)
    methods = {row.method for row in some if not row.anchor and row.method}
    chance = next(row.chance for row in some if row.metric == EXPOSED) or 0.0
    said = []
    leaked = _of(some, NO_PRIVACY, None, EXPOSED)
    if leaked.low is None or leaked.low < chance + 1:
        said.append("Without privacy the model does not clearly give secrets away.")
    for method, level in _points(some, [one for one in methods if not one.startswith("MDP")]):
        found = _of(some, method, level, EXPOSED)
        if found.low is not None and found.low > chance:
            said.append(f"{method} at ε {level:g} gives away more than chance.")
    best = {method: _best(some, method) for method in (NO_PRIVACY, *methods)}
    order = [NO_PRIVACY, *(one for one in methods if one.startswith("Selective"))]
    order += [one for one in methods if one.startswith("DP-SGD")]
    for better, worse in pairwise(order):
        if best[better] > best[worse]:
            said.append(f"{worse} predicts new dialogues better than {better}.")
    selective, whole = (
        next(one for one in methods if one.startswith(start)) for start in ("SMDP", "MDP")
    )
    if best[whole] < 2 * best[selective]:
        said.append(f"{whole} is not far behind {selective}.")
    return said


def _points(rows: list[Row], methods: Iterable[str]) -> list[tuple[str, float]]:
    wanted = set(methods)
    found = {(row.method, row.level) for row in rows if row.method in wanted}
    return sorted((method, level) for method, level in found if level is not None)


def _best(rows: list[Row], method: str) -> float:
    """The lowest perplexity of a method at any of its levels."""
    levels = {row.level for row in rows if row.method == method}
    return min(_of(rows, method, level, "perplexity").value for level in levels)


def _of(rows: list[Row], method: str, level: float | None, metric: str) -> LevelEstimate:
    found = [
        row
        for row in rows
        if (row.method, row.level, row.group, row.metric) == (method, level, None, metric)
    ]
    estimate = estimate_of(found)
    assert estimate is not None, f"{method} has no {metric}"
    return estimate


def _at_levels(rows: list[Row], method: str) -> str:
    levels = sorted({row.level for row in rows if row.method == method and row.level is not None})
    return "; ".join(f"ε {level:g}: {_pair(rows, method, level)}" for level in levels)


def _pair(rows: list[Row], method: str, level: float | None = None) -> str:
    utility, leaked = (_of(rows, method, level, one) for one in ("perplexity", EXPOSED))
    ends = "" if leaked.low is None else f" ({leaked.low:.1f} to {leaked.high:.1f})"
    return f"{utility.value:.3g} and {leaked.value:.1f}{ends}"


if __name__ == "__main__":
    main()
