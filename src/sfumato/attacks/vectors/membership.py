"""Membership: whether a text is among those whose vectors were released.

Somebody has a text and asks whether it was in the corpus. (The encoder is public here; whether a
text was in *its* training data is another question, which Song and Raghunathan ask as well.)

Figures
    ``auc``: how well a score ranks the originals above ``others``. The score of a text is the sum
    over all released vectors of how likely the vector is for this text, divided by how likely it is
    for a text at all: the likelihood that the text was there.

Control
    The same question, put to vectors that were made of other texts alone, half of the others, with
    the same noise: none of the originals is there, and the other half of the others is not either.
    Chance is one half. A control above it says that originals and others differ by themselves.

What a level proves
    A text that is replaced by another changes one vector, so the two cases are told apart by (ε, δ)
    at most, and the area under the curve is at most 1 − (1 − δ)²/(1 + e^ε)
    (``accounting/guessing.py``), on average over which texts are members. Originals and others must
    be of the same kind for that: what differs by itself is found without any vector.

Reference
    Song and Raghunathan 2020, "Information leakage in embedding models".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.accounting.guessing import most_separated
from sfumato.attacks.attack import Done
from sfumato.attacks.vectors.target import OnVectors, Texts, VectorTarget, tell_bound
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.ranking import measure_auc

AUC = "auc"
FEWEST = 4


@dataclass(frozen=True, kw_only=True)
class VectorMembership(OnVectors):
    """Tell texts whose vectors were released from others.

    At most ``texts`` originals and as many others are asked about. ``encoder`` is the folder that
    the vectors are by, if it is not the embedded word vectors.
    """

    texts: int = 500

    name: ClassVar[str] = "vector-membership"
    needs_others: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("texts", self.texts, FEWEST)

    def score(
        self,
        target: VectorTarget,
        data: Texts,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Rank originals and others by the likelihood that they were there."""
        others = data.others or ()
        if min(len(data.originals), len(others)) < FEWEST:
            raise BadInput(f"at least {FEWEST} originals and {FEWEST} others are needed")
        with time_block() as watch:
            inside = _some(len(data.originals), self.texts, randomness.stream(0))
            outside = _some(len(others), self.texts, randomness.stream(1))
            asked = [data.originals[one].text for one in inside]
            asked += [others[one].text for one in outside]
            clear = target.clear(asked)
            if done:
                done(1, 2)
            found = _scores(target, target.vectors, clear)
            members, rest = found[: len(inside)], found[len(inside) :]
            # Others in random order: a file may be sorted.
            half = len(rest) // 2
            order = np.argsort(randomness.stream(4).uniform(len(rest)), kind="stable")
            elsewhere = [asked[len(inside) + one] for one in order[half:].tolist()]
            blank = _scores(target, target.simulate(elsewhere, randomness.stream(5)), clear)
            absent = blank[len(inside) :][order[:half]]
            level = target.level
            bound = 1.0 if level is None else most_separated(level)
            scores = Scores(
                attack=self.name,
                knowledge="The attacker has texts, the encoder and the law of the noise, and asks "
                "of each text whether its vector is among those released.",
                figures=(measure_auc(AUC, members, rest, randomness.stream(2)),),
                chance={AUC: 0.5},
                control=Control(
                    what="the same attack on vectors of other texts, among which no text that is "
                    "asked about is",
                    figures=(measure_auc(AUC, blank[: len(inside)], absent, randomness.stream(3)),),
                ),
                notes=(tell_bound(level, "the area under the curve", bound),),
                details={
                    "members": len(members),
                    "others": len(rest),
                    "bounds": {AUC: None if level is None else bound},
                },
            )
            if done:
                done(2, 2)
        return watch.stamp(scores)


def _some(count: int, most: int, randomness: Randomness) -> list[int]:
    if count <= most:
        return list(range(count))
    found: list[int] = randomness.choose(count, most).tolist()
    return found


def _scores(target: VectorTarget, released: Floats, clear: Floats) -> Floats:
    """The logarithm of Σ_y p(y | x)/q(y) for each text x; q is the mean of p(y | x) over all texts.

    A vector that is as likely for every text says nothing about any of them.
    """
    logs = target.mechanism.log_likelihoods(released, clear)
    usual = _log_mean(logs, axis=1)[:, None]
    return _log_mean(logs - usual, axis=0)


def _log_mean(logs: Floats, axis: int) -> Floats:
    top = logs.max(axis=axis, keepdims=True)
    found: Floats = np.log(np.exp(logs - top).mean(axis=axis)) + top.squeeze(axis)
    return found
