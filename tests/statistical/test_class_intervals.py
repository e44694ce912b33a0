"""Figures of a classifier lie in their intervals as often as these say, also where authors differ.

Each author's texts are told apart always, or by chance. So the texts of an author are right and
wrong together, and an interval that takes them for independent ones is too short.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.statistics.classification import Classified, measure_classes
from statistical import budget

CHECK = "classes: coverage"
REPEATS, AUTHORS, TEXTS = 120, 20, 10
CLASSES = ("no", "yes")
TRUTH = {"accuracy": 0.75, "matthews": 0.5, "f1, macro": 0.75, "f1, yes": 0.75}


def documents(generator: np.random.Generator) -> list[Classified]:
    """Both classes are equally frequent, and so are both kinds of errors."""
    found = []
    for author in range(AUTHORS):
        right = generator.choice([1.0, 0.5])
        for truth in generator.integers(2, size=TEXTS).tolist():
            said = truth if generator.random() < right else 1 - truth
            found.append(Classified(truth, said, str(author)))
    return found


@cache
def misses(*, by_author: bool) -> Counter[str]:
    generator, randomness = np.random.default_rng(41), Randomness.reproducible(5)
    found: Counter[str] = Counter()
    for _ in range(REPEATS):
        some = documents(generator)
        if not by_author:
            some = [replace(one, author=None) for one in some]
        for one in measure_classes(some, CLASSES, randomness):
            if one.metric in TRUTH:
                assert one.low is not None
                assert one.high is not None
                found[one.metric] += not one.low <= TRUTH[one.metric] <= one.high
    return found


def too_many(case: str, count: int) -> bool:
    return budget.rejects(CHECK, case, [budget.at_most(count, REPEATS, 0.05)])


@pytest.mark.parametrize("case", list(TRUTH))
def test_a_figure_lies_in_its_interval(case: str) -> None:
    count = misses(by_author=True)[case]
    assert not too_many(case, count), count


@pytest.mark.parametrize("case", list(TRUTH))
def test_texts_of_an_author_taken_for_independent_ones_are_caught(case: str) -> None:
    count = misses(by_author=False)[case]
    assert too_many(case, count), count
