"""False claims about federated averaging: what the wrappers of flwr 1.41 compute, in a few lines.

All are about one round of ten clients, in which an update is clipped to C and noise is that of
σ·C/10 on the mean, as ``serverapp/strategy/dp_fixed_clipping.py`` and ``dp_adaptive_clipping.py``
have it. Each function makes one way to go wrong, as an observer of the round sees it who knows all
clients but one; updates are numbers in units of C. The claim is always the level of the Gaussian
mechanism with the noise multiplier σ, for a client that is there or not. flwr itself states no
level: it calls σ the noise multiplier for the Gaussian mechanism, recommends 1 or more for strong
privacy, and this is the level that an accountant has for such a multiplier. The repair is always
what ``federation.averaging`` does. Tests compare the arithmetic with flwr's own, where it is
installed.

What the wrappers do beyond that breaks no claim: the norm of adaptive clipping runs away from its
target instead of towards it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import DrawVectors, VectorSubject
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness

FLOWER = "flwr 1.41"
PRESENT = ("a federation", "the same with one more client")

ASKED = 10
NOISE = 4.0
DELTA = 1e-3
# What a client says of itself, and how fast an adaptive norm moves (0.2 unless it is given).
EXAMPLES = 990
RATE = 2.0
QUANTILE = 0.5

# The client pulls one way, all others the other way, as far as they may.
OTHERS, CLIENT = (-1.0,) * (ASKED - 1), 1.0


def clip(update: float) -> float:
    """An update in units of C, as it is clipped; the norm of nothing divides by zero.

    >>> clip(-3.0), clip(0.5)
    (-1.0, 0.5)
    """
    return update * min(1.0, 1.0 / abs(update))


def weighted_mean(updates: Sequence[float], examples: Sequence[int]) -> float:
    """The mean of clipped updates, each by what its client says that it has (``fedavg.py``).

    >>> round(weighted_mean([*OTHERS, CLIENT], [1] * 9 + [EXAMPLES]), 2)
    0.98
    """
    total = sum(examples)
    parts = zip(updates, examples, strict=True)
    return sum(clip(one) * count / total for one, count in parts)


def next_norm(norm: float, clipped: float, rate: float = RATE) -> float:
    """The norm after a round in which that share of clients was clipped.

    >>> round(next_norm(1.0, 1.0, rate=0.2), 3)
    0.905
    """
    return norm * math.exp(-rate * (clipped - QUANTILE))


def weights_of_clients(examples: int) -> VectorSubject:
    """A round in which clients are weighed by numbers that they state themselves.

    What is claimed
        Noise of σ·C/n on the mean of n clipped updates has the level of σ.

    Why it is false
        The mean is weighed by each client's own ``num-examples``. One that states 990 where nine
        others state 1 moves the mean from −C to 0.98·C, which is 1.98·C; the noise is for C/10, or
        2·C/10 if a client is exchanged.

    Repair
        Equal weights, and a divisor that does not depend on who answers.
    """
    if examples == 1:  # the repair
        means = sum(OTHERS) / ASKED, (sum(OTHERS) + CLIENT) / ASKED
    else:
        ones = [1] * len(OTHERS)
        means = weighted_mean(OTHERS, ones), weighted_mean([*OTHERS, CLIENT], [*ones, examples])
    return _round(means, NOISE / ASKED)


def divided_by(number: int | None) -> VectorSubject:
    """A round in which one other client answers, divided by this number, or by who answers.

    What is claimed
        Noise of σ·C/n has the level of σ, with a warning if not all n answer.

    Why it is false
        The mean is over those who answer, and the noise for those who were asked. If two of ten
        answer, each moves the mean by C/2 or more, with noise for C/10.

    Repair
        The sum, divided by the number that was planned, whoever answers.
    """
    without = OTHERS[0] / (number or 1)
    beside = (OTHERS[0] + CLIENT) / (number or 2)
    return _round((without, beside), NOISE / ASKED)


def noise_for(norm: float) -> VectorSubject:
    """A round whose updates are clipped to C, with noise for this norm, in units of C.

    What is claimed
        Adaptive clipping has the level of its noise multiplier, after it was corrected for the
        count of clipped updates.

    Why it is false
        The norm is changed between clipping and noise: updates are clipped to the norm of this
        round, and the noise is scaled with that of the next one, which is smaller whenever more are
        clipped than the target. At the default rate that is 0.905 of the noise in each round; here
        the rate is 2, so that few draws tell.

    Repair
        Noise for the norm that clipped.
    """
    means = sum(OTHERS) / ASKED, (sum(OTHERS) + CLIENT) / ASKED
    return _round(means, norm * NOISE / ASKED)


def stopping(*, stops: bool) -> VectorSubject:
    """A round with a client that has changed nothing; the first number says that it came to no end.

    What is claimed
        The level of σ for whatever a client sends.

    Why it is false
        An update of zero is divided by its norm, which stops the round, and one with a number that
        is not finite makes all weights so. Both are seen, and neither has noise: one client decides
        whether there is a model.

    Repair
        Nothing is added for either, and the round goes on.
    """

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        noisy = sum(OTHERS) / ASKED + NOISE / ASKED * randomness.normal(count, 1)[:, 0]
        try:
            if number and stops:
                noisy = noisy + clip(0.0) / ASKED
        except ZeroDivisionError:
            return np.column_stack([np.ones(count), np.zeros(count)])
        return np.column_stack([np.zeros(count), noisy])

    return _subject(source)


def with_metrics(*, shown: bool) -> VectorSubject:
    """A round, and the mean loss that its clients report.

    What is claimed
        The level of σ for the round.

    Why it is false
        Metrics of clients are averaged and returned beside the weights, without noise and without
        a bound.

    Repair
        They are dropped.
    """
    losses = np.array([1.0] * len(OTHERS) + [2.0])

    def source(number: int, count: int, randomness: Randomness) -> Floats:
        mean = (sum(OTHERS) + number * CLIENT) / ASKED
        noisy = mean + NOISE / ASKED * randomness.normal(count, 1)[:, 0]
        reported = losses[: len(OTHERS) + number].mean() if shown else 0.0
        return np.column_stack([noisy, np.full(count, reported)])

    return _subject(source)


def _round(means: tuple[float, float], deviation: float) -> VectorSubject:
    def source(number: int, count: int, randomness: Randomness) -> Floats:
        return means[number] + deviation * randomness.normal(count, 1)

    return _subject(source)


def _subject(source: DrawVectors) -> VectorSubject:
    epsilon = gaussian_epsilon(1 / NOISE, DELTA)
    return VectorSubject(
        claim=f"Federations that differ in a client are told apart by a factor of at most "
        f"exp({epsilon:.3g}), but for a share of {DELTA:g}.",
        epsilon=epsilon,
        inputs=PRESENT,
        source=source,
        delta=DELTA,
    )


METRICS = Exhibit(
    name="flower-metrics",
    source=f"{FLOWER}, aggregated training metrics",
    claim="a round of clipped updates with noise σ·C/n has the level of σ",
    reason="what clients report of themselves is averaged and returned without noise",
    repair="metrics of clients are dropped",
    broken=lambda: with_metrics(shown=True),
    repaired=lambda: with_metrics(shown=False),
)
MISSING = Exhibit(
    name="flower-missing",
    source=f"{FLOWER}, dp_fixed_clipping.py",
    claim="noise σ·C/n on the mean has the level of σ, whoever answers",
    reason="the mean is over those who answer, the noise for those who were asked",
    repair="the sum is divided by the number that was planned",
    broken=lambda: divided_by(None),
    repaired=lambda: divided_by(ASKED),
)
NEXT_NORM = Exhibit(
    name="flower-next-norm",
    source=f"{FLOWER}, dp_adaptive_clipping.py",
    claim="adaptive clipping has the level of its noise multiplier",
    reason="updates are clipped to one norm, and the noise is scaled with the next one",
    repair="noise for the norm that clipped",
    broken=lambda: noise_for(next_norm(1.0, 1.0)),
    repaired=lambda: noise_for(1.0),
)
UNDEFINED = Exhibit(
    name="flower-undefined",
    source=f"{FLOWER}, supercore/differential_privacy.py",
    claim="a round has the level of σ for whatever a client sends",
    reason="an update of zero stops the round, and one that is not finite spoils the model",
    repair="neither adds anything, and the round goes on",
    broken=lambda: stopping(stops=True),
    repaired=lambda: stopping(stops=False),
)
WEIGHTS = Exhibit(
    name="flower-weights",
    source=f"{FLOWER}, fedavg.py below dp_fixed_clipping.py",
    claim="noise σ·C/n on the weighted mean of n clipped updates has the level of σ",
    reason=f"weights are the clients' own: one that states {EXAMPLES} examples moves the mean "
    "by 1.98·C",
    repair="equal weights, and a divisor that was planned",
    broken=lambda: weights_of_clients(EXAMPLES),
    repaired=lambda: weights_of_clients(1),
)
