"""The main job from end to end: ``make demo``.

Runs ``studies/demo.toml``: generates customer dialogues with a planted secret, privatizes all words
(metric DP) and the selected words (selective metric DP), trains models without privacy, with DP-SGD
and selectively, attacks all of them, compares them at equal leakage and writes one page about it.
Everything is in ``demo/``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from sfumato.cli.main import main as sfumato
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row
from sfumato.studies.folder import StudyFolder
from sfumato.studies.watch import spoken

FOLDER = Path("demo")
STUDY = FOLDER / "study"
PAGE = FOLDER / "report.html"
EXPOSED = "exposure at 200 repetitions"


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
    run("calibrate", STUDY, "--attack", "deniability", "--target", "0.25,0.5")
    run("report", STUDY, "-o", PAGE)
    print("\n" + "\n".join(summary(StudyFolder(STUDY), time.perf_counter() - began)))


def summary(folder: StudyFolder, seconds: float) -> list[str]:
    """Five lines."""
    rows = folder.rows()
    cells = len({cell.key for cell in folder.cells()})
    methods = dict.fromkeys(row.method for row in rows if not row.anchor and row.method)
    middle = [f"{method}: {_at_levels(rows, method)}" for method in methods]
    texts = [one for one, method in zip(middle, methods, strict=True) if "MDP" in method]
    models = [one for one, method in zip(middle, methods, strict=True) if "SGD" in method]
    return [
        f"{cells} computations in {spoken(seconds)}; perplexity on new dialogues, and bits that "
        "the model gives away of a secret with 13.3:",
        f"no privacy: {_pair(rows, NO_PRIVACY)}; random output: {_pair(rows, RANDOM_OUTPUT)}",
        "; ".join(texts),
        "; ".join(models),
        f"the report is in {PAGE.resolve()}",
    ]


def _at_levels(rows: Iterable[Row], method: str) -> str:
    some = list(rows)
    levels = sorted({row.level for row in some if row.method == method and row.level is not None})
    return ", ".join(f"ε {level:g}: {_pair(some, method, level)}" for level in levels)


def _pair(rows: Iterable[Row], method: str, level: float | None = None) -> str:
    values = {
        row.metric: row.value
        for row in rows
        if (row.method, row.level, row.group) == (method, level, None) and row.value is not None
    }
    return f"{values['perplexity']:.0f} and {values[EXPOSED]:.1f}"


if __name__ == "__main__":
    main()
