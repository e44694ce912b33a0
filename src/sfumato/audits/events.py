"""Events that may break a claim: learned on some draws, chosen on others, tested on a third part.

What is proven
    Let x and x' be a pair and E an event fixed before the held-out draws were made. Clopper and
    Pearson's limits give p <= P[E | x] and P[E | x'] <= q, each wrong with probability at most the
    level it is given. If both hold, (p − delta)/q > exp(bound) proves that the claim is false.

How the event is found
    One half of the scouting draws teaches scores (what the subject proposes: likelihood ratios,
    distances, directions); the other half chooses the score, the threshold and the direction that
    seem to exceed the claim most. The choice affects what is found, never what is proven.

Reference
    Ding et al. 2018, "Detecting violations of differential privacy"; Bichsel et al. 2021,
    "DP-Sniper: Black-box discovery of differential privacy violations using classifiers".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.verdict import Witness
from sfumato.statistics.intervals import lower_limit, upper_limit

# Points of a space (one dimension) or vectors (two, one per row).
Outputs = NDArray[np.intp] | NDArray[np.float64]
# Beyond this many standard errors an event will surely be shown; the larger excess is preferred.
SURE = 4.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs and the claimed bound on ln(P[E | x] / P[E | x']) in both directions."""

    first: int
    second: int
    forward: float
    backward: float


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """Outputs of one input and how often each occurred."""

    outputs: Outputs
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, draws: Outputs) -> DrawnSample:
        """Equal points are counted together; vectors are practically never equal."""
        if draws.ndim == 1:
            points, counts = np.unique(draws.astype(np.intp), return_counts=True)
            return cls(points, counts.astype(np.int64))
        return cls(draws, np.ones(len(draws), dtype=np.int64))

    @property
    def total(self) -> int:
        """How many draws there were."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Score:
    """A number for every possible output, and what it is called."""

    name: str
    of: Callable[[Outputs], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Event:
    """All outputs whose score is at least, or at most, a threshold."""

    score: Score
    threshold: float
    above: bool

    def contains(self, outputs: Outputs) -> NDArray[np.bool_]:
        """For each output, whether it belongs to the event."""
        values = self.score.of(outputs)
        inside: NDArray[np.bool_] = (
            values >= self.threshold if self.above else values <= self.threshold
        )
        return inside

    def hits(self, sample: DrawnSample) -> int:
        """How many draws fell into the event."""
        return int(sample.counts[self.contains(sample.outputs)].sum())

    def __str__(self) -> str:
        relation = "at least" if self.above else "at most"
        return f"{self.score.name} is {relation} {self.threshold:.4g}"


class Examined(Protocol):
    """What is needed to learn an event between two inputs and to describe it."""

    @property
    def delta(self) -> float:
        """The δ of the claim; usually 0."""
        ...

    def name(self, number: int) -> str:
        """The name of an input, for people."""
        ...

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """Scores that may tell the two inputs apart, from public data and these draws."""
        ...

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """The event in words; ``seen`` holds draws of the likelier input."""
        ...


@dataclass(frozen=True, slots=True)
class SampleHalves:
    """The scouting draws of one input: to learn scores, and to choose the event."""

    learn: DrawnSample
    choose: DrawnSample

    @classmethod
    def of(cls, draws: Outputs) -> SampleHalves:
        """The first half and the second."""
        half = len(draws) // 2
        return cls(DrawnSample.of(draws[:half]), DrawnSample.of(draws[half:]))


@dataclass(frozen=True, slots=True)
class Choice:
    """An event, the direction in which it is tested, and by how much it seems to exceed the claim.

    ``promise`` counts standard errors: the larger, the likelier held-out draws are to show it.
    """

    pair: Pair
    event: Event
    turned: bool
    promise: float

    @property
    def inputs(self) -> tuple[int, int]:
        """The input for which the event should be likelier, then the other."""
        first, second = self.pair.first, self.pair.second
        return (second, first) if self.turned else (first, second)

    @property
    def bound(self) -> float:
        """What is claimed in this direction."""
        return self.pair.backward if self.turned else self.pair.forward


def propose_events(
    subject: Examined, pair: Pair, seen: Mapping[int, SampleHalves], width: float
) -> Choice | None:
    """The event with which a pair comes closest to breaking its claim in the scouting draws."""
    first, second = seen[pair.first], seen[pair.second]
    scores = subject.scores(pair, first.learn, second.learn)
    return choose_event(scores, pair, (first.choose, second.choose), width, subject.delta)


def decide_event(
    subject: Examined, choice: Choice, held: Mapping[int, DrawnSample], alpha: float
) -> Witness:
    """The loss that held-out draws prove for an event; each of two limits errs with ``alpha``."""
    likely, unlikely = (held[number] for number in choice.inputs)
    low = lower_limit(choice.event.hits(likely), likely.total, alpha)
    high = upper_limit(choice.event.hits(unlikely), unlikely.total, alpha)
    gained = low - subject.delta
    return Witness(
        first=subject.name(choice.inputs[0]),
        second=subject.name(choice.inputs[1]),
        event=subject.describe(choice.event, likely),
        likelier=low,
        unlikelier=high,
        loss=math.log(gained / high) if gained > 0 else -math.inf,
        bound=choice.bound,
        exact=False,
    )


def expect_width(scouted: int, held: int, alpha: float) -> float:
    """The expected width of limits from ``held`` draws, in standard errors of ``scouted`` ones."""
    return NormalDist().inv_cdf(1 - alpha) * math.sqrt(scouted / held)


def choose_event(
    scores: Sequence[Score],
    pair: Pair,
    samples: tuple[DrawnSample, DrawnSample],
    width: float,
    delta: float,
) -> Choice | None:
    """The score, threshold and direction that seem to exceed the claim most."""
    every = [_nest([score.of(sample.outputs) for sample in samples], samples) for score in scores]
    # All events of all scores side by side: those at or above a threshold, then those below it.
    hits = np.concatenate([part for one in every for part in (one.above, one.below)], axis=1)
    if not hits.shape[1]:
        return None
    totals = samples[0].total, samples[1].total
    promises = np.stack(
        [
            _promise(hits, totals, width, delta, pair.forward),
            _promise(hits[::-1], totals[::-1], width, delta, pair.backward),
        ]
    )
    # Without a hit there is no event, in spite of the half that is added to each count.
    promises[hits == 0] = -np.inf
    turned, place = divmod(int(promises.argmax()), hits.shape[1])
    promise = float(promises[turned, place])
    if not math.isfinite(promise):
        return None
    for score, one in zip(scores, every, strict=True):
        for edges, above in ((one.inside, True), (one.outside, False)):
            if place < len(edges):
                event = Event(score, float(edges[place]), above)
                return Choice(pair, event, bool(turned), promise)
            place -= len(edges)
    return None


@dataclass(frozen=True, slots=True)
class _Nested:
    """All events {score >= t} and their complements {score <= t'}, largest t first.

    ``inside`` is the smallest score within the first, ``outside`` the largest within the second;
    ``above`` and ``below`` count the draws of either sample (one per row) in them.
    """

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    above: NDArray[np.int64]
    below: NDArray[np.int64]


def _nest(
    values: Sequence[NDArray[np.float64]], samples: tuple[DrawnSample, DrawnSample]
) -> _Nested:
    together = np.concatenate(values)
    counts = np.zeros((2, len(together)), dtype=np.int64)
    counts[0, : len(values[0])] = samples[0].counts
    counts[1, len(values[0]) :] = samples[1].counts
    # An output without a score belongs to no event: the claim is not about it.
    order = np.argsort(-together, kind="stable")[: np.count_nonzero(~np.isnan(together))]
    ordered, hits = together[order], counts[:, order].cumsum(axis=1)
    # After the last score there is none; nan differs from every number.
    following = np.append(ordered[1:], np.nan)[: len(ordered)]
    last = np.flatnonzero(ordered != following)
    above = hits[:, last]
    return _Nested(
        inside=ordered[last],
        outside=following[last],
        above=above,
        below=counts[:, order].sum(axis=1, keepdims=True) - above,
    )


def _promise(
    hits: NDArray[np.int64],
    totals: tuple[int, int],
    width: float,
    delta: float,
    bound: float,
) -> NDArray[np.float64]:
    """By how many standard errors the expected limits exceed the bound.

    Beyond ``SURE`` standard errors, by how many nats. Half a hit is added to each count, so that
    outputs which occurred once or never do not seem promising.
    """
    likely, unlikely = (_Share.of(*counted) for counted in zip(hits, totals, strict=True))
    gained = likely.share - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(gained) - np.log(unlikely.share) - bound
        errors = likely.error / gained, unlikely.error / unlikely.share
        exceeding = logs - width * (errors[0] + errors[1])
        promise = exceeding / np.hypot(*errors)
    promise = np.where(promise > SURE, SURE + exceeding, promise)
    found: NDArray[np.float64] = np.where(gained > 0, promise, -np.inf)
    return found


@dataclass(frozen=True, slots=True)
class _Share:
    """Estimated probabilities with their standard errors."""

    share: NDArray[np.float64]
    error: NDArray[np.float64]

    @classmethod
    def of(cls, hits: NDArray[np.int64], total: int) -> _Share:
        share = (hits + 0.5) / (total + 1)
        return cls(share, np.sqrt(share * (1 - share) / (total + 1)))
