"""Measure with which chance public words stay, at every level of every word mechanism.

    python scripts/build_staying_curves.py src/sfumato/metrics/data/staying.json

Takes about a quarter of an hour of processor time. Each mechanism has its default settings and
the embedded vectors. The words are drawn once, and the seed of words and draws is fixed and public:
nothing that is released is drawn with it. A grid goes from where the median word stays with less
than half a percent (or no smaller level changes anything) to where the word at 5 % stays with more
than 99 % (or no larger level does).
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.core.arrays import Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism, word_mechanisms
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.metrics.population import frequent_words
from sfumato.metrics.staying_curves import QUANTILES, measure_curve
from sfumato.vectors.load import default_space

SEED = 20
# So many levels at least, and no step longer than this.
LEVELS, LONGEST = 20, 1.3
LEAST, MOST = 0.005, 0.99
SMALLEST, LARGEST = 1 / 64, 4096.0
STEP = 2**0.5
ROUGH = DrawEffort(draws=40)
FEW = 60


def main() -> None:
    """Write the curves of all word mechanisms, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("mechanisms", nargs="*", help="only these are measured anew")
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--draws", type=int, default=150)
    given = parser.parse_args()
    space = default_space()
    randomness = Randomness.reproducible(SEED)
    points = frequent_words(space).some(given.words, randomness.stream(0))
    before = json.loads(given.output.read_text())["curves"] if given.mechanisms else {}
    curves = dict(before)
    for name in given.mechanisms or sorted(word_mechanisms()):
        began = time.process_time()
        level = partial(_level, name)
        grid = _grid(level, _most(name), points[:FEW], randomness.stream(1))
        effort = DrawEffort(draws=given.draws)
        curve = measure_curve(name, level, grid, points, effort, randomness.stream(2))
        curves[name] = {key: one for key, one in curve.as_dict().items() if key != "mechanism"}
        print(
            f"{name}: epsilon {grid[0]:g} to {grid[-1]:g}, median {curve.median[0]} to "
            f"{curve.median[-1]}, {time.process_time() - began:.0f} s"
        )
        written = {"vectors": space.name, "digest": space.digest, "curves": curves}
        lines = json.dumps(written, sort_keys=True).replace(', "', ',\n"').replace("{", "{\n")
        given.output.write_text(lines + "\n", encoding="utf-8")


def _level(name: str, epsilon: float) -> PointMechanism:
    return build_mechanism(name, space=default_space(), epsilon=epsilon)


def _most(name: str) -> float:
    """The largest level of one law: the noise of the ball takes the place of rows at d − 1."""
    return default_space().dimension - 1.0 if name == "hyperbolic" else LARGEST


def _grid(
    level: Callable[[float], PointMechanism], most: float, points: Points, randomness: Randomness
) -> list[float]:
    """Levels between which the chance of words to stay changes, evenly spaced by ratio."""

    def quantiles(epsilon: float) -> tuple[float, float, float]:
        found = measure_deniability(level(epsilon), points, ROUGH, randomness.stream(0))
        low, median, high = np.quantile(found.keep, QUANTILES).tolist()
        return low, median, high

    low = high = 1.0
    while low > SMALLEST and quantiles(low)[1] > LEAST:
        low /= STEP
    while high * STEP <= most and quantiles(high)[0] < MOST:
        high *= STEP
    count = max(LEVELS, 1 + math.ceil(math.log(high / low) / math.log(LONGEST)))
    ratio = (high / low) ** (1 / (count - 1))
    return [float(f"{low * ratio**place:.4g}") for place in range(count)]


if __name__ == "__main__":
    main()
