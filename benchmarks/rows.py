"""Mechanisms with rows: words drawn from rows that are kept, and from rows that are built.

Texts are like prose: the word of rank r stands there about as often as 1/r. A text in a process of
its own is timed with the building of all its rows, and then again with all of them kept; ten times
the text should take much less than ten times the time, and no more memory for rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.inputs import SEED, large_space
from benchmarks.timing import Row, by_turns
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.row_store import VARIABLE, limit
from sfumato.vectors.load import default_space
from sfumato.vectors.space import Space

# Levels of which each keeps a few, about half, and nearly all of the words.
MECHANISMS = (("truncated", 3.0), ("truncated", 8.0), ("exponential", 1.0), ("exponential", 3.0))
SPACES = {"33,860 × 300": large_space, "60,000 × 50": default_space}

Points = NDArray[np.intp]


def run(quick: bool) -> list[Row]:
    """Both spaces, every level; the longer text with the truncated mechanism alone."""
    words = 20_000 if quick else 1_000_000
    rows: list[Row] = []
    for space in SPACES:
        for name, epsilon in MECHANISMS:
            rows.append(_alone(space, name, epsilon, words))
    for name, epsilon in MECHANISMS[:2]:
        rows.append(_alone(next(iter(SPACES)), name, epsilon, 10 * words))
    return rows + _with_and_without_a_store(quick)


def text(space: Space, words: int) -> Points:
    """Points of a text whose words are as frequent as their rank says."""
    ranks = len(space) ** Randomness.reproducible(SEED).uniform(words)
    return np.minimum(ranks.astype(np.intp), len(space)) - 1


def measure(space: str, name: str, epsilon: float, words: int) -> Row:
    """One text through a new mechanism and then again; run in a process of its own."""
    here = SPACES[space]()
    points, mechanism = text(here, words), build_mechanism(name, space=here, epsilon=epsilon)
    seconds, processor, outputs = [], time.process_time(), points
    for _ in range(2):
        start = time.perf_counter()
        outputs = mechanism.privatize(points, Randomness.secure())
        seconds.append(time.perf_counter() - start)
    processor = time.process_time() - processor
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = next(line for line in status if line.startswith("VmHWM")).split()[1]
    return {
        "space": space,
        "mechanism": f"{name}, ε = {epsilon:g}",
        "words": f"{words:,}",
        "different": f"{len(np.unique(points)):,}",
        "kept as they are": f"{(outputs == points).mean():.3f}",
        "seconds with the building of rows": f"{seconds[0]:.1f}",
        "words/s from kept rows": f"{words / seconds[1]:,.0f}",
        "processor seconds for both": f"{processor:.1f}",
        "peak MB": f"{int(peak) / 1024:.0f}",
    }


def _alone(space: str, name: str, epsilon: float, words: int) -> Row:
    arguments = json.dumps([space, name, epsilon, words])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.rows", arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def _with_and_without_a_store(quick: bool) -> list[Row]:
    """A short text again and again, as the chunks of a file: rows kept, and rows dropped."""
    words = 1_000 if quick else 10_000
    space = default_space()
    points = text(space, words)
    kept, dropped = (build_mechanism("exponential", space=space, epsilon=3.0) for _ in range(2))

    def without() -> None:
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = "0"
        try:
            dropped.privatize(points, Randomness.secure())
        finally:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before

    work = {"kept": lambda: kept.privatize(points, Randomness.secure()), "dropped": without}
    timings = by_turns(work, 2 if quick else 5)
    return [
        {
            "space": "60,000 × 50",
            "mechanism": f"exponential, ε = 3, rows {name} (limit {limit() >> 20} MB)"
            if name == "kept"
            else "exponential, ε = 3, rows dropped",
            "words": f"{words:,}",
            "different": f"{len(np.unique(points)):,}",
            "words/s": timing.rate(words),
            "times as fast as without a store": timing.ratio(timings["dropped"]),
        }
        for name, timing in timings.items()
    ]


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
