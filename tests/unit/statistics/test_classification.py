"""Figures of a classifier agree with their definitions, text by text."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import SHARE
from sfumato.statistics.classification import Classified, measure_classes
from sfumato.statistics.shares import bootstrap_mean

NAMES = ("a", "b", "c")


def figures(pairs: list[tuple[int, int]], names: tuple[str, ...] = NAMES) -> dict[str, float]:
    documents = [Classified(*pair) for pair in pairs]
    found = measure_classes(documents, names, Randomness.reproducible(1))
    assert all(one.n == len(pairs) for one in found)
    return {one.metric: one.value for one in found}


def test_figures_are_those_of_their_definitions() -> None:
    generator = np.random.default_rng(3)
    truth = generator.integers(3, size=200)
    said = np.where(generator.random(200) < 0.6, truth, generator.integers(3, size=200))
    found = figures(list(zip(truth.tolist(), said.tolist(), strict=True)))
    assert found["accuracy"] == pytest.approx(float((truth == said).mean()))
    # The correlation of indicators of all classes together, each without its mean.
    ones = [np.eye(3)[which] - np.eye(3)[which].mean(0) for which in (truth, said)]
    among = [(x * y).sum() for x, y in ((ones[0], ones[1]), (ones[0],) * 2, (ones[1],) * 2)]
    assert found["matthews"] == pytest.approx(among[0] / np.sqrt(among[1] * among[2]))
    each = []
    for place, name in enumerate(NAMES):
        right = ((truth == place) & (said == place)).sum()
        precision, recall = right / (said == place).sum(), right / (truth == place).sum()
        each.append(2 * precision * recall / (precision + recall))
        assert found[f"f1, {name}"] == pytest.approx(each[-1])
    assert found["f1, macro"] == pytest.approx(np.mean(each))


def test_one_class_that_is_always_said_is_worth_nothing() -> None:
    found = figures([(0, 0), (1, 0), (0, 0), (0, 0)])
    assert found["accuracy"] == 0.75
    assert found["matthews"] == 0
    assert found["f1, b"] == 0
    assert "f1, c" not in found  # it occurs nowhere
    assert found["f1, macro"] == pytest.approx((6 / 7 + 0) / 2)


def test_what_does_not_vary_has_no_interval() -> None:
    right = [Classified(place % 2, place % 2) for place in range(20)]
    found = {one.metric: one for one in measure_classes(right, NAMES, Randomness.reproducible(1))}
    assert found["matthews"].value == 1
    assert found["matthews"].low is None
    accuracy = found["accuracy"]
    assert accuracy.low == pytest.approx(0.8316, abs=5e-3)  # as of twenty hits out of twenty
    assert accuracy.high == 1


def test_authors_count_as_one_each() -> None:
    pairs = [(place % 2, place % 2 if place < 20 else 1 - place % 2) for place in range(40)]
    alone = [Classified(*pair) for pair in pairs]
    owned = [Classified(*pair, "x" if place < 20 else "y") for place, pair in enumerate(pairs)]
    by_text, by_author = (
        next(iter(measure_classes(some, NAMES, Randomness.reproducible(1))))
        for some in (alone, owned)
    )
    assert by_text.value == by_author.value == 0.5
    assert by_author.low is not None
    assert by_text.low is not None
    assert by_author.low == pytest.approx(0.0126, abs=2e-3)  # as of one hit out of two
    assert by_text.low > 0.2


def test_authors_who_are_right_equally_often_do_not_show_how_often_others_are() -> None:
    halves = [Classified(0, place % 2, f"author {place // 2}") for place in range(8)]
    accuracy = measure_classes(halves, NAMES, Randomness.reproducible(1))[0]
    assert accuracy.value == 0.5
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.low < 0.25
    assert accuracy.high > 0.75
    # Sabotage: resampling four equal authors shows no difference at all.
    twin = bootstrap_mean("accuracy", np.full(4, 0.5), Randomness.reproducible(1), SHARE)
    assert twin.low == twin.high


def test_nothing_to_measure_is_said() -> None:
    with pytest.raises(BadInput, match="no labeled document"):
        measure_classes([], NAMES, Randomness.reproducible(1))
