"""Telling models with a low share of a property from models with a high one, by their answers.

The answers of a model are a row of numbers, some about questions with the property and some about
questions without it. A logistic regression learns from shadows: from the means over the two kinds
of questions and from all answers one by one, which together weigh as much as the means. Each column
is standardized by the shadows that are learned from.

``held_out`` learns from the shadows of one half of the text and judges those of the other, and the
other way round; a shadow is never judged by a model that saw it, or any of its documents.

Control
    ``mislabeled``: among shadows of equal share, half are called high, in each half of the text as
    many. There is nothing to find, and no further model has to be trained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.membership.classifier import Logistic, fit_logistic
from sfumato.core.arrays import Floats, Integers

PENALTY = 0.1
_FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class Teller:
    """A fitted attacker: higher scores mean the high share."""

    mean: Floats
    deviation: Floats
    weights: Floats
    classifier: Logistic

    @classmethod
    def of(cls, rows: Floats, high: NDArray[np.bool_], weights: Floats) -> Teller:
        """Learn from rows of which it is known whether their share is high."""
        mean, deviation = rows.mean(axis=0), np.maximum(rows.std(axis=0), _FLAT)
        scaled = (rows - mean) / deviation * weights
        return cls(mean, deviation, weights, fit_logistic(scaled, high, PENALTY))

    def score(self, rows: Floats) -> Floats:
        """The log-odds that each row is of a model with the high share."""
        return self.classifier.score((rows - self.mean) / self.deviation * self.weights)


def summarize(answers: Floats, has: NDArray[np.bool_], kinds: int) -> tuple[Floats, Floats]:
    """Means over the two sorts of questions beside all answers, and the weight of each column.

    ``answers`` has a row for each model; each question has ``kinds`` numbers in a row.
    """
    shaped = answers.reshape(len(answers), len(has), kinds)
    parts = [shaped[:, has == one].mean(axis=1) for one in (True, False) if (has == one).any()]
    means = np.concatenate(parts, axis=1)
    weights = np.ones(means.shape[1] + answers.shape[1])
    weights[means.shape[1] :] = np.sqrt(means.shape[1] / answers.shape[1])
    return np.concatenate([means, answers], axis=1), weights


def held_out(rows: Floats, high: NDArray[np.bool_], half: Integers, weights: Floats) -> Floats:
    """The score of each shadow by a teller that learned from the other half of the text."""
    found = np.empty(len(rows))
    for which in (0, 1):
        teller = Teller.of(rows[half != which], high[half != which], weights)
        found[half == which] = teller.score(rows[half == which])
    return found


def mislabeled(high: NDArray[np.bool_], half: Integers) -> list[tuple[Integers, NDArray[np.bool_]]]:
    """For each share the shadows that have it, half of which are called high.

    >>> high, half = np.array([0, 0, 1, 1, 0, 0, 1, 1]) > 0, np.array([0, 1] * 4)
    >>> [(places.tolist(), called.tolist()) for places, called in mislabeled(high, half)][0]
    ([0, 1, 4, 5], [False, False, True, True])
    """
    found = []
    for share in (False, True):
        places = np.flatnonzero(high == share)
        # Shadows were drawn in order, so every second one of a half is as good as a random half.
        order = np.array(
            [(half[places[:one]] == half[place]).sum() for one, place in enumerate(places)]
        )
        found.append((places, order % 2 == 1))
    return found
