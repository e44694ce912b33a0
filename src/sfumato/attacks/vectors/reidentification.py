"""Re-identification of released vectors: which text each of them was made from.

The attacker has all originals in random order, encodes them as the owner did, and knows the law of
the noise.

Figures
    ``re-identified``: for each released vector the original for which it is likeliest: the guess of
    maximum likelihood, which nobody beats who looks at one vector. ``re-identified together``: the
    assignment of all vectors to all originals that is likeliest on the whole, each original taken
    once.

Control
    The same guesses, counted against originals that were assigned at random. Chance is one in n.

What a level proves
    A guess from one vector is right with probability (e^ε + (n − 1)·δ)/(e^ε + n − 1) at most, and
    for Gaussian noise with the least of that over its whole trade-off (``accounting/guessing.py``).
    Any guess from all vectors together, for pure ε, is right with e^2ε/(e^2ε + n − 1) at most
    (``attacks/reidentification.py`` has the proof). Where the level is by distance, none follows.

Reference
    Abdalla et al. 2020, "Exploring the privacy-preserving properties of word embeddings", for
    patients found again by the vectors of their notes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.accounting.guessing import Level, most_guessed
from sfumato.attacks.attack import Done
from sfumato.attacks.stretches.matching import choose_documents, share_of_best
from sfumato.attacks.vectors.target import OnVectors, Texts, VectorTarget, tell_bound
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, extra
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.power import tells_from
from sfumato.statistics.ranking import derangement
from sfumato.statistics.shares import mean_share

ALONE, TOGETHER = "re-identified", "re-identified together"


@dataclass(frozen=True, kw_only=True)
class VectorReidentification(OnVectors):
    """Assign vectors to originals by likelihood.

    At most ``documents`` are attacked, drawn at random, and matched among each other. ``encoder``
    is the folder that the vectors are by, if it is not the embedded word vectors.
    """

    documents: int = 500

    name: ClassVar[str] = "vector-reidentification"
    needs = replace(OnVectors.needs, inputs=("originals",))

    def __post_init__(self) -> None:
        at_least("documents", self.documents, 2)

    def score(
        self,
        target: VectorTarget,
        data: Texts,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Match vectors with originals; only the evaluation knows what belongs together."""
        extra("scipy", needed_for="assigning vectors to originals", extra="attack")
        with time_block() as watch:
            chosen = choose_documents(len(data.originals), self.documents, randomness.stream(0))
            clear = target.clear([data.originals[one].text for one in chosen])
            if done:
                done(1, 2)
            fits = target.mechanism.log_likelihoods(target.vectors[chosen], clear)
            own = np.arange(len(chosen))
            strangers = derangement(len(chosen), randomness.stream(1))
            taken = _assigned(fits)
            count = len(chosen)
            alone, together = _bounds(target.level, count)
            scores = Scores(
                attack=self.name,
                knowledge="The attacker has the originals in random order, the encoder and the law "
                "of the noise, and knows that each vector was made from one of them.",
                figures=(
                    share_of_best(ALONE, fits, own),
                    mean_share(TOGETHER, (taken == own).astype(np.float64)),
                ),
                chance=dict.fromkeys((ALONE, TOGETHER), 1 / count),
                control=Control(
                    what="the same attack, counted against originals that were assigned at random",
                    figures=(
                        share_of_best(ALONE, fits, strangers),
                        mean_share(TOGETHER, (taken == strangers).astype(np.float64)),
                    ),
                ),
                notes=_notes(target.level, count, len(data.originals)),
                details={"documents": count, "bounds": {ALONE: alone, TOGETHER: together}},
            )
            if done:
                done(2, 2)
        return watch.stamp(scores)


def _assigned(fits: Floats) -> Floats:
    """The original that each vector gets in the likeliest assignment."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-fits)
    found: Floats = np.empty(len(fits))
    found[rows] = columns
    return found


def _bounds(level: Level | None, count: int) -> tuple[float | None, float | None]:
    if level is None:
        return None, None
    alike = [1 / count] * count
    together = None if level.delta else most_guessed(Level(2 * level.epsilon), alike)
    return most_guessed(level, alike), together


def _notes(level: Level | None, chosen: int, whole: int) -> tuple[str, ...]:
    alone, together = _bounds(level, chosen)
    notes = [
        f"With {chosen:,} documents a true share of {tells_from(1 / chosen, chosen):.2g} would be "
        "told from chance with a probability of 95 %.",
        tell_bound(level, "the share that is re-identified from one vector", alone or 1.0),
    ]
    if together is not None:
        notes.append(tell_bound(level, "the share from all vectors together", together))
    if chosen < whole:
        notes.append(f"{chosen:,} of {whole:,} documents were attacked.")
    return tuple(notes)
