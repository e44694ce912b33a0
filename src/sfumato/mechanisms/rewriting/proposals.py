"""Draws over a large pool: a quick product with all of it, an exact one with what is proposed.

A score is the weighted sum of cut cosines, β·Σ (min(max(⟨x, y⟩, low), high) − low), over the
vectors of one sentence or of all sentences of a document.

Guarantee
    A draw of ``Proposals`` is sentence y of the pool with probability ∝ exp(s(y)), s(y) being the
    score of y in double precision: the law that the level is proven for. The quick product, in
    single precision, decides how long a draw takes and nothing else. No sentence of the pool is
    left out, so there is no index that could miss one.

Why it holds
    By its quick score every sentence of the pool is put on one of a few steps, each with a top that
    is above the exact scores of all sentences on it. A step is drawn with probability ∝ its size
    times e^top, then one of its sentences uniformly: y is proposed with probability ∝ e^top(y). It
    is taken with probability e^(s(y) − top(y)), which is 1 at most, and else all of it is repeated.
    So y is taken in one round with probability ∝ e^s(y), whatever the tops are. Steps are a quarter
    high: more than half of all proposals are taken where β·slack is small, and more than a quarter
    wherever there are proposals.

    *Tops.* Whatever the order in which a product of d numbers is summed in single precision, it is
    off by at most d·u/(1 − d·u)·‖x‖·‖y‖, u = 2^−24, and lengths are 1 at most; rounding the vector
    x, the two ends of the window and the difference adds 6u. With n vectors that is below
    n·(d + 8)·6e-8 (``slack``), which is added to the upper end of each step.

    *Narrow windows.* A narrow window has a large β, and with β·slack the tops rise above all
    scores: next to nothing would be taken, with a probability that 53 digits no longer tell. Where
    β·slack is above ½, single precision helps nobody: all exact scores are computed, and
    ``Weighted`` draws by e^s(y) itself (``Whole``), which is the same law.

    The exact score of a proposal is computed by itself, from its own vector: no other proposal and
    no other text can change a digit of it.

Care
    In a product with many vectors at once the last digits depend on what else is there. They may
    change which sentences are proposed, hence what comes out under a seed; each output still has
    exactly its law, whatever stands beside it.

Reference
    von Neumann 1951, "Various techniques used in connection with random digits", for rejection;
    Higham 2002, "Accuracy and stability of numerical algorithms", section 3.1, for the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.draw import Weighted

# Sentences whose products with the pool are computed at once, and products held at once.
TOGETHER = 32
_CELLS = 1 << 18
# Height of a step: the smaller, the more proposals are taken.
_STEP = 0.25
_SINGLE = 6e-8
_WIDER = 1 + 1e-6
# β·slack above which tops say too little, and exact scores of the whole pool are taken.
_COARSE = 0.5


@dataclass(frozen=True, kw_only=True)
class CutCosines:
    """Scores by cut cosines with public vectors."""

    public: Singles
    beta: float
    low: float
    high: float

    def exact(self, vectors: Floats, number: int) -> float:
        """The score of one public vector, for one sentence or several, in double precision."""
        own = self.public[number].astype(np.float64)
        cut = [min(max(float(own @ one), self.low), self.high) - self.low for one in vectors]
        return float(self.beta * math.fsum(cut))

    def slack(self, count: int) -> float:
        """More than a quick sum over so many vectors is off by."""
        return float(count * (self.public.shape[1] + 8) * _SINGLE)

    def too_coarse(self, count: int) -> bool:
        """Whether quick sums over so many vectors say too little of their scores."""
        return self.beta * self.slack(count) > _COARSE

    def propose_each(self, vectors: Floats) -> Iterator[Proposals | Whole]:
        """What to draw from for each vector."""
        if self.too_coarse(1):
            yield from (self._whole(vector[None]) for vector in vectors)
            return
        for start in range(0, len(vectors), TOGETHER):
            some = vectors[start : start + TOGETHER]
            steps = self._steps(some, apart=True)
            for vector, mine in zip(some, steps, strict=True):
                yield self._proposals(vector[None], mine)

    def propose(self, vectors: Floats) -> Proposals | Whole:
        """What to draw from for one document, by all of its vectors together."""
        if self.too_coarse(len(vectors)):
            return self._whole(vectors)
        return self._proposals(vectors, self._steps(vectors, apart=False)[0])

    def _steps(self, vectors: Floats, *, apart: bool) -> NDArray[Any]:
        """The step of every public vector, in a row for each vector or in one for all."""
        summed = 1 if apart else len(vectors)
        tops = self._tops(summed)
        kind = np.uint8 if len(tops) <= 256 else np.uint16
        found = np.zeros((len(vectors) if apart else 1, len(self.public)), dtype=kind)
        low, high = np.float32(self.low), np.float32(self.high)
        per_step = np.float32(1 / self._height(summed))
        given = vectors.astype(np.float32)
        rows = max(64, _CELLS // max(1, len(given)))
        for start in range(0, len(self.public), rows):
            near = given @ self.public[start : start + rows].T
            np.clip(near, low, high, out=near)
            near -= low
            # Sums in double precision are off by nothing that counts here.
            sums = near if apart else near.sum(axis=0, keepdims=True, dtype=np.float64)
            sums *= per_step
            np.minimum(sums, len(tops) - 1, out=sums)
            found[:, start : start + rows] = sums
        return found

    def _height(self, summed: int) -> float:
        """The height of a step, in cosines."""
        width = max(1, summed) * (self.high - self.low)
        return width / max(1, math.ceil(self.beta * width / _STEP))

    def _tops(self, summed: int) -> Floats:
        """What the scores on each step are below."""
        height = self._height(summed)
        count = round(max(1, summed) * (self.high - self.low) / height)
        ends = np.arange(1, count + 1, dtype=np.float64) * height * _WIDER
        tops: Floats = self.beta * (ends + self.slack(summed))
        return tops

    def _proposals(self, vectors: Floats, steps: NDArray[Any]) -> Proposals:
        return Proposals(steps, self._tops(len(vectors)), lambda one: self.exact(vectors, one))

    def _whole(self, vectors: Floats) -> Whole:
        scores = np.zeros(len(self.public))
        rows = max(64, _CELLS // self.public.shape[1])
        for start in range(0, len(scores), rows):
            part = self.public[start : start + rows].astype(np.float64)
            for vector in vectors:
                # One vector at a time: what others are beside it must not change a digit.
                cut = np.clip(part @ vector, self.low, self.high) - self.low
                scores[start : start + rows] += cut
        return Whole(self.beta * scores)


@dataclass(frozen=True, eq=False, repr=False)
class Whole:
    """The exact score of every sentence of a pool."""

    scores: Floats

    def draw(self, count: int, randomness: Randomness) -> Points:
        """The numbers of so many sentences, independent draws."""
        return Weighted.of(np.exp(self.scores)).draw(count, randomness)


@dataclass(frozen=True, eq=False, repr=False)
class Proposals:
    """The step of every sentence of a pool, the tops of steps, and what scores really are."""

    steps: NDArray[Any]
    tops: Floats
    exact: Callable[[int], float]

    def draw(self, count: int, randomness: Randomness) -> Points:
        """The numbers of so many sentences, independent draws."""
        sizes = np.bincount(self.steps, minlength=len(self.tops))
        by_step = Weighted.of(sizes.astype(np.float64) * np.exp(self.tops))
        found = np.empty(count, dtype=np.intp)
        left = np.arange(count)
        known: dict[int, float] = {}
        while len(left):
            proposed, tops = self._propose(by_step.draw(len(left), randomness), randomness)
            for one in set(proposed.tolist()) - known.keys():
                known[one] = self.exact(one)
            scores = np.array([known[one] for one in proposed.tolist()])
            taken = randomness.uniform(len(left)) < np.exp(scores - tops)
            found[left[taken]] = proposed[taken]
            left = left[~taken]
        return found

    def _propose(self, steps: Points, randomness: Randomness) -> tuple[Points, Floats]:
        """A sentence on each of these steps, and the top of its step."""
        proposed = np.empty(len(steps), dtype=np.intp)
        for step in np.unique(steps):
            mine = steps == step
            members = np.flatnonzero(self.steps == step)
            proposed[mine] = members[randomness.integers(len(members), int(mine.sum()))]
        return proposed, self.tops[steps]
