"""The main job from end to end: ``make demo``.

Runs ``studies/demo.toml``: generates customer dialogues with planted secrets, privatizes all words
(metric DP) and the selected words (selective metric DP), trains a small public model on them
without privacy, with DP-SGD and selectively, attacks all of them, compares them at equal leakage
and writes one page about it. Everything is in ``demo/``. The last lines say what was found, and
for each part of the expected picture whether the figures show it.
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

from sfumato.calibration.curves import TELLING, LevelEstimate, estimate_of, overlap
from sfumato.cli.main import main as sfumato
from sfumato.results.measured import CONFIDENCE
from sfumato.results.row import ANCHORS, NO_PRIVACY, Row
from sfumato.studies.expected import spoken
from sfumato.studies.folder import StudyFolder

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
        "Of the picture that one expects:",
        *facts(rows),
        f"The report is in {PAGE.resolve()}",
    ]


def facts(rows: Iterable[Row]) -> list[str]:
    """Each of the five facts that one expects, and whether these figures show it."""
    some = list(rows)
    asked = (
        ("without privacy the model gives secrets away", _no_leak),
        ("SMDP, Selective-DPSGD and DP-SGD stay near chance, below no privacy", _not_near_chance),
        ("no privacy predicts best, then Selective-DPSGD, then DP-SGD", _out_of_order),
        ("MDP, with noise on all words, is far behind SMDP", _not_far_behind),
        ("what is drawn as a trend is larger than its interval", _no_trend),
    )
    said = []
    for expected, doubts_of in asked:
        doubts = doubts_of(some)
        said.append(f"  shown: {expected}." if not doubts else f"  NOT SHOWN: {expected}:")
        said += [f"    {doubt}" for doubt in doubts]
    return said


def _no_leak(rows: list[Row]) -> list[str]:
    leaked, chance = _of(rows, NO_PRIVACY, None, EXPOSED), _chance(rows)
    if leaked.low is not None and leaked.low >= chance + 1:
        return []
    return [f"{_bits(leaked)} are less than a bit above chance, or may be."]


def _not_near_chance(rows: list[Row]) -> list[str]:
    chance, leaked = _chance(rows), _of(rows, NO_PRIVACY, None, EXPOSED)
    said = []
    for method, level in _points(rows, [_named(rows, one) for one in ("SMDP", "Sel", "DP-SGD")]):
        found = _of(rows, method, level, EXPOSED)
        where = f"{method} at ε {level:g}: {_bits(found)}"
        if found.low is not None and found.low > chance:
            said.append(f"{where} are more than chance.")
        elif overlap(
            _of(rows, method, level, EXPOSED, TELLING),
            _of(rows, NO_PRIVACY, None, EXPOSED, TELLING),
        ):
            said.append(f"{where} cannot be told from no privacy, {_bits(leaked)}.")
    return said


def _out_of_order(rows: list[Row]) -> list[str]:
    order = [NO_PRIVACY, _named(rows, "Selective"), _named(rows, "DP-SGD")]
    return [
        f"{worse} predicts new dialogues better than {better}."
        for better, worse in pairwise(order)
        if _best(rows, better) > _best(rows, worse)
    ]


def _not_far_behind(rows: list[Row]) -> list[str]:
    selective, whole = (_named(rows, start) for start in ("SMDP", "MDP"))
    best, other = _best(rows, selective), _best(rows, whole)
    return [] if other >= 2 * best else [f"perplexity {other:.3g} and {best:.3g}."]


def _no_trend(rows: list[Row]) -> list[str]:
    said = []
    for method in dict.fromkeys(row.method for row in rows if row.level is not None):
        levels = [level for _, level in _points(rows, [method])]
        ends = [_of(rows, method, level, "perplexity") for level in (levels[0], levels[-1])]
        if len(levels) > 1 and overlap(*ends):
            said.append(
                f"the perplexity of {method} at ε {levels[0]:g} cannot be told from that at ε "
                f"{levels[-1]:g}."
            )
    for times in dict.fromkeys(row.metric for row in rows if row.metric.startswith("exposure at")):
        leaked = _of(rows, NO_PRIVACY, None, times)
        if leaked.low is None or leaked.low <= _chance(rows):
            said.append(f"{times}: {_bits(leaked)} without privacy cannot be told from chance.")
    return said


def _chance(rows: list[Row]) -> float:
    return next(row.chance for row in rows if row.metric == EXPOSED) or 0.0


def _named(rows: list[Row], start: str) -> str:
    return next(row.method for row in rows if row.method.startswith(start) and not row.anchor)


def _bits(found: LevelEstimate) -> str:
    ends = "" if found.low is None else f" ({found.low:.1f} to {found.high:.1f})"
    return f"{found.value:.1f} bits{ends}"


def _points(rows: list[Row], methods: Iterable[str]) -> list[tuple[str, float]]:
    wanted = set(methods)
    found = {(row.method, row.level) for row in rows if row.method in wanted}
    return sorted((method, level) for method, level in found if level is not None)


def _best(rows: list[Row], method: str) -> float:
    """The lowest perplexity of a method at any of its levels."""
    levels = {row.level for row in rows if row.method == method}
    return min(_of(rows, method, level, "perplexity").value for level in levels)


def _of(
    rows: list[Row],
    method: str,
    level: float | None,
    metric: str,
    confidence: float = CONFIDENCE,
) -> LevelEstimate:
    found = [
        row
        for row in rows
        if (row.method, row.level, row.group, row.metric) == (method, level, None, metric)
    ]
    estimate = estimate_of(found, confidence)
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
