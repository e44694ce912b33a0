"""Whether guesses are right, what blind guesses reach, and a text that cannot leak."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.inference.observed import Observed
from sfumato.attacks.inference.priors import Prior
from sfumato.core.randomness import Randomness

Points = NDArray[np.intp]
Flags = NDArray[np.bool_]


def right(guesses: Points, originals: Points) -> Flags:
    """For each word and each guess whether it is right; an unknown word is nobody's guess."""
    found: Flags = guesses == originals[:, None]
    return found


def blind_share(prior: Prior, originals: Points, count: int) -> float:
    """The share that ``count`` guesses reach which are the same for every word."""
    if prior.even:
        # Any choice is as good; this is the mean over all of them.
        known = np.isin(originals, prior.points).mean()
        return float(known) * min(1.0, count / len(prior.points))
    return float(np.isin(originals, prior.likeliest(count)).mean())


def unrelated(seen: Observed, prior: Prior, randomness: Randomness) -> Points:
    """Replacements of words that have nothing to do with the originals."""
    cumulated = prior.shares.cumsum()
    drawn = randomness.uniform(len(seen)) * cumulated[-1]
    places = np.minimum(cumulated.searchsorted(drawn, side="right"), len(prior.points) - 1)
    words = prior.points[places]
    outputs = np.empty(len(seen), dtype=np.intp)
    for rank, mechanism in enumerate(seen.mechanisms):
        mine = np.flatnonzero(seen.ranks == rank)
        outputs[mine] = mechanism.privatize(words[mine], randomness.stream(rank))
    return outputs


def displaced(count: int, randomness: Randomness) -> Points:
    """An order in which nobody keeps his place, if there are two or more."""
    order = np.argsort(randomness.uniform(count), kind="stable")
    moved = np.empty(count, dtype=np.intp)
    moved[order] = np.roll(order, 1)
    return moved
