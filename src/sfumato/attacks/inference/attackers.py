"""What every attacker on words does, and the bookkeeping of the best few guesses.

Whether guesses are right, what blind guesses reach, and a text that cannot leak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from sfumato.attacks.attack import Done
from sfumato.attacks.inference.observed import Observed
from sfumato.attacks.inference.priors import Prior
from sfumato.core.arrays import Flags, Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rows import CELLS, distances

NOBODY = -1


class Attacker(Protocol):
    """Guesses words from a privatized text.

    ``reads_context`` says whether it looks at the words around, which selective release leaves
    in the clear.
    """

    @property
    def reads_context(self) -> bool:
        """Whether a guess depends on more than the replacement itself."""
        ...

    @property
    def knowledge(self) -> str:
        """What this attacker is assumed to know besides the text and how it was made."""
        ...

    def guesses(
        self, observed: Observed, count: int, randomness: Randomness, done: Done | None = None
    ) -> Points:
        """For each word the best guesses, best first; ``NOBODY`` where there is no further one."""
        ...


@dataclass(frozen=True)
class Nearest:
    """Takes the replacement for the original, and the words nearest to it for the next guesses."""

    reads_context: ClassVar[bool] = False
    knowledge: ClassVar[str] = (
        "He guesses the replacement itself, then the words nearest to it in the public vectors."
    )

    def guesses(
        self,
        observed: Observed,
        count: int,
        randomness: Randomness,  # noqa: ARG002  # every attacker is called alike
        done: Done | None = None,
    ) -> Points:
        """The replacement and its neighbors."""
        outputs, which = np.unique(observed.outputs, return_inverse=True)
        found = np.full((len(outputs), count), NOBODY, dtype=np.intp)
        size = max(1, CELLS // len(observed.space))
        for start in range(0, len(outputs), size):
            near = neighbors(observed, outputs[start : start + size], count)
            found[start : start + size, : near.shape[1]] = near
            if done:
                done(min(start + size, len(outputs)), len(outputs))
        return found[which.reshape(-1)]


def neighbors(observed: Observed, outputs: Points, count: int) -> Points:
    """The possible originals nearest to each output, itself first."""
    possible = observed.possible
    away = distances(observed.space, outputs)[:, possible]
    away[possible[None] == outputs[:, None]] = -1.0
    few = min(count, len(possible))
    some = np.sort(np.argpartition(away, few - 1, axis=1)[:, :few], axis=1)
    order = np.argsort(np.take_along_axis(away, some, axis=1), axis=1, kind="stable")
    return possible[np.take_along_axis(some, order, axis=1)]


@dataclass(eq=False)
class Best:
    """The candidates with the largest weights so far, one row of them for each output."""

    points: Points
    weights: Floats

    @classmethod
    def none_yet(cls, outputs: int, count: int) -> Best:
        """Rows without a candidate."""
        shape = outputs, count
        return cls(np.full(shape, NOBODY, dtype=np.intp), np.zeros(shape))

    def add(self, points: Points, weights: Floats) -> None:
        """Let further candidates compete; ``weights`` has one row for each output."""
        count = self.points.shape[1]
        few = min(count, weights.shape[1])
        # Of equally good ones the first stays, so the order of the points decides.
        top = np.sort(np.argpartition(-weights, few - 1, axis=1)[:, :few], axis=1)
        joined = np.hstack([self.weights, np.take_along_axis(weights, top, axis=1)])
        named = np.hstack([self.points, points[top]])
        order = np.argsort(-joined, axis=1, kind="stable")[:, :count]
        self.weights = np.take_along_axis(joined, order, axis=1)
        self.points = np.take_along_axis(named, order, axis=1)
        # A candidate of no weight is impossible.
        self.points[self.weights <= 0] = NOBODY

    def filled(self, observed: Observed, outputs: Points) -> Points:
        """The candidates, and what is near the output for whoever has too few."""
        count = self.points.shape[1]
        lacking = np.flatnonzero((self.points == NOBODY).any(axis=1))
        fill = Nearest().guesses(
            replace(observed, outputs=outputs[lacking]), count, Randomness.secure()
        )
        filled = self.points.copy()
        for row, more in zip(lacking.tolist(), fill.tolist(), strict=True):
            filled[row] = _without_repetition([*self.points[row].tolist(), *more], count)
        return filled


def _without_repetition(points: list[int], count: int) -> list[int]:
    kept = [point for point in dict.fromkeys(points) if point != NOBODY][:count]
    return kept + [NOBODY] * (count - len(kept))


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


def shuffle_unrelated(seen: Observed, prior: Prior, randomness: Randomness) -> Points:
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


def displace(count: int, randomness: Randomness) -> Points:
    """An order in which none stays in its place, if there are two or more."""
    order = np.argsort(randomness.uniform(count), kind="stable")
    moved = np.empty(count, dtype=np.intp)
    moved[order] = np.roll(order, 1)
    return moved
