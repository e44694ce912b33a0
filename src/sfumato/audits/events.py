"""Falsify by sampling: learn an event on one half of the draws, bound it on the other.

What is proven
    Let x and x' be a pair and E an event fixed before the second half was looked at. Clopper and
    Pearson's limits give p <= P[E | x] and P[E | x'] <= q, each wrong with probability at most
    alpha/(2·pairs). If all limits hold, (p − delta)/q > exp(bound) proves that the claim is false.
    So a true claim is refuted with probability at most alpha, over all pairs together.

    A claim is about noise that nobody knows. Drawn again under other randomness, n outputs that
    came n_1, n_2, … times come in the very same order with probability at most n_1!·n_2!·…/n!, for
    all orders are equally likely. Where that is below ``REPEAT_SHARE`` of alpha and they do all the
    same, the noise is not from the randomness: it can be made again, and the claim is false.

How the event is found
    A quarter of the draws teaches scores (what the subject proposes: likelihood ratios, distances,
    directions); the next quarter chooses the score, the threshold and the direction by which the
    claim would be exceeded most. How they are chosen changes what is found, never what is proven.

Reference
    Ding et al. 2018, "Detecting violations of differential privacy"; Bichsel et al. 2021,
    "DP-Sniper: Black-box discovery of differential privacy violations using classifiers".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.subject import Event, Outputs, Pair, Sample, Score, Subject
from sfumato.audits.verdict import Finding, Witness
from sfumato.core.intervals import lower_limit, upper_limit
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness

FEWEST_DRAWS = 100
# Of the false-alarm budget, what goes to the question whether noise is drawn anew.
REPEAT_SHARE = 0.01
REPEATED = (
    "drawn again under other randomness, the outputs for {name} come in the very same order: the "
    "noise does not come from the randomness, so that it can be made again and taken off"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """The draws of one input: to learn scores, to choose the event, to bound it."""

    learn: Sample
    choose: Sample
    hold: Sample


@dataclass(frozen=True, slots=True)
class Choice:
    """An event, the direction in which it is to be tested, and by how much it seems to exceed."""

    event: Event
    turned: bool
    promise: float


def falsify(
    subject: Subject, *, draws: int, alpha: float, randomness: Randomness, advance: Advance
) -> Finding:
    """Put every pair of the subject to the test; ``draws`` for each input, in all."""
    pairs = subject.pairs()
    numbers = sorted({number for pair in pairs for number in (pair.first, pair.second)})
    parts: dict[int, Parts] = {}
    liveliest: _Drawn | None = None
    for done, number in enumerate(numbers, start=1):
        drawn = _Drawn.of(number, subject.draw(number, draws, randomness.stream(number)))
        parts[number] = _split(drawn.outputs)
        if liveliest is None or drawn.log_orders > liveliest.log_orders:
            liveliest = drawn
        advance(done)
    defect = "" if liveliest is None else _repeated(subject, liveliest, alpha, randomness)
    each = alpha * (1 - REPEAT_SHARE) / (2 * max(1, len(pairs)))
    witnesses = [
        witness_of(subject, pair, parts, each)
        for pair in pairs
        if math.isfinite(min(pair.forward, pair.backward))
    ]
    found = [witness for witness in witnesses if witness is not None]
    best = max(found, key=lambda witness: witness.rank, default=None)
    return Finding(
        method="sampled",
        where="",
        pairs=len(pairs),
        inputs=len(numbers),
        draws=draws,
        confidence=1 - alpha,
        refuted=bool(defect) or (best is not None and best.excess > 0),
        witness=best,
        defect=defect,
    )


def witness_of(
    subject: Subject, pair: Pair, parts: dict[int, Parts], alpha: float
) -> Witness | None:
    """The event learned for a pair, with the loss that the held-out draws prove."""
    first, second = parts[pair.first], parts[pair.second]
    scores = subject.scores(pair, first.learn, second.learn)
    choice = chosen(scores, pair, (first.choose, second.choose), alpha, subject.delta)
    if choice is None:
        return None
    bound = pair.backward if choice.turned else pair.forward
    names = (pair.second, pair.first) if choice.turned else (pair.first, pair.second)
    likely, unlikely = parts[names[0]].hold, parts[names[1]].hold
    # From here on the event is fixed, and the held-out draws are looked at for the first time.
    low = lower_limit(choice.event.hits(likely), likely.total, alpha)
    high = upper_limit(choice.event.hits(unlikely), unlikely.total, alpha)
    gained = low - subject.delta
    return Witness(
        first=subject.name(names[0]),
        second=subject.name(names[1]),
        event=subject.describe(choice.event, likely),
        likelier=low,
        unlikelier=high,
        loss=math.log(gained / high) if gained > 0 else -math.inf,
        bound=bound,
        exact=False,
    )


def chosen(
    scores: Sequence[Score],
    pair: Pair,
    samples: tuple[Sample, Sample],
    alpha: float,
    delta: float,
) -> Choice | None:
    """The score, threshold and direction by which the claim seems to be exceeded most."""
    # The expected limits at this level: an event that promises much but is rare will not hold.
    width = NormalDist().inv_cdf(1 - alpha)
    best: Choice | None = None
    for score in scores:
        nested = _nested([score.of(sample.outputs) for sample in samples], samples)
        if not len(nested.inside):
            continue
        for above, turned in product((True, False), repeat=2):
            likely, unlikely = (1, 0) if turned else (0, 1)
            hits = nested.above if above else nested.below
            promise = _limit(hits[likely], samples[likely].total, width, delta, lower=True)
            promise -= _limit(hits[unlikely], samples[unlikely].total, width, 0.0, lower=False)
            place = int(promise.argmax())
            value = float(promise[place]) - (pair.backward if turned else pair.forward)
            if math.isfinite(value) and (best is None or value > best.promise):
                edge = nested.inside[place] if above else nested.outside[place]
                best = Choice(Event(score, float(edge), above), turned, value)
    return best


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


def _nested(values: Sequence[NDArray[np.float64]], samples: tuple[Sample, Sample]) -> _Nested:
    together = np.concatenate(values)
    counts = np.zeros((2, len(together)), dtype=np.int64)
    counts[0, : len(values[0])] = samples[0].counts
    counts[1, len(values[0]) :] = samples[1].counts
    # What has no score belongs to no event: the claim does not speak of it.
    order = np.argsort(-together, kind="stable")[: np.count_nonzero(~np.isnan(together))]
    ordered, hits = together[order], counts[:, order].cumsum(axis=1)
    # After the last there is none, and nan differs from everything.
    following = np.append(ordered[1:], np.nan)[: len(ordered)]
    last = np.flatnonzero(ordered != following)
    above = hits[:, last]
    return _Nested(
        inside=ordered[last],
        outside=following[last],
        above=above,
        below=counts[:, order].sum(axis=1, keepdims=True) - above,
    )


def _limit(
    hits: NDArray[np.int64], total: int, width: float, delta: float, *, lower: bool
) -> NDArray[np.float64]:
    """The logarithm of the limit to be expected: Wilson's, which is quick, less delta."""
    half = width * np.sqrt(hits + width * width / 4)
    limit = (hits + width * width / 2 + (-half if lower else half)) / total - delta
    with np.errstate(divide="ignore"):  # a limit of 0 promises nothing: −inf
        logs: NDArray[np.float64] = np.log(np.maximum(limit, 0.0))
    return logs


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The draws of one input as they came, and the logarithm of how many orders they have."""

    number: int
    outputs: Outputs
    log_orders: float

    @classmethod
    def of(cls, number: int, outputs: Outputs) -> _Drawn:
        counts = np.unique(outputs, axis=0, return_counts=True)[1].tolist()
        orders = math.lgamma(len(outputs) + 1) - sum(math.lgamma(count + 1) for count in counts)
        return cls(number, outputs, orders)


def _repeated(subject: Subject, drawn: _Drawn, alpha: float, randomness: Randomness) -> str:
    """What is wrong if an input's draws come again under other randomness; mostly nothing."""
    if drawn.log_orders <= math.log(1 / (REPEAT_SHARE * alpha)):
        return ""  # so few orders that chance might do it
    other = randomness.stream(drawn.number).stream(0)
    again = subject.draw(drawn.number, len(drawn.outputs), other)
    same = np.array_equal(drawn.outputs, again)
    return REPEATED.format(name=subject.name(drawn.number)) if same else ""


def _split(draws: NDArray[np.intp] | NDArray[np.float64]) -> Parts:
    quarter = len(draws) // 4
    cuts = (draws[:quarter], draws[quarter : 2 * quarter], draws[2 * quarter :])
    return Parts(*(Sample.of(part) for part in cuts))


def reach(draws: int, pairs: int, alpha: float) -> float:
    """The largest loss that draws can prove: an event that always happens, and never."""
    return math.log((draws - draws // 2) / math.log(2 * max(1, pairs) / alpha))
