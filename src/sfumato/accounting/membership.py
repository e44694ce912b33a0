"""How well members can be told from others at most, by what is proven of a training run.

Guarantee
    Each of some texts is trained on or not, by a fair coin of its own, and the run is (ε, δ)-DP for
    adding or removing a text. A rule that was fixed without the coins calls some texts members;
    on average over coins and noise, its hits h and its false alarms f satisfy

        h <= e^ε·f + δ,  1 − f <= e^ε·(1 − h) + δ,  h − f <= (e^ε − 1 + 2δ)/(e^ε + 1).

    A score that was fixed without the coins ranks a member above another text with probability at
    most 1 − e^−ε·(1/2 − δ), ties counting one half; on average that is the area under the curve.

Why it holds
    Fix all coins but that of text i. The runs with and without i are neighbors, so the event "i is
    called a member" has both inequalities; they are linear, so their means over i and over the
    other coins have them too. The third is the largest h − f that the first two allow.

    Let A be the event that the score of i is above that of j. With j out, the run with i and the
    run without it are neighbors: P[not A | i in] >= e^−ε·(P[not A | i out] − δ). Where both are
    out, "i above j" and "j above i" have probability 1 together; the mean over the two is the
    claim. (The area of two *independent* runs, ``guessing.most_separated``, is smaller: here both
    scores are read off one run.)

Care
    These are means. One run may lie above its bound by luck, within the figure's interval. Members
    that were not chosen by coins, another month for one, may be told from others by themselves;
    no bound on a model limits that.

Reference
    Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy", for hits and
    false alarms; Yeom et al. 2018, "Privacy risk in machine learning", for the advantage.
"""

from __future__ import annotations

import math

from sfumato.core.checks import between

_LARGEST = 700.0


def most_hits(epsilon: float, delta: float, rate: float) -> float:
    """The largest share of members found at a rate of false alarms.

    >>> most_hits(0.0, 0.0, 0.01), round(most_hits(1.0, 0.0, 0.01), 4)
    (0.01, 0.0272)
    """
    _check(epsilon, delta)
    between("rate", rate, 0.0, 1.0)
    grown = math.exp(min(epsilon, _LARGEST))
    return min(1.0, grown * rate + delta, 1 - max(0.0, 1 - rate - delta) / grown)


def most_advantage(epsilon: float, delta: float) -> float:
    """The largest difference between hits and false alarms.

    >>> most_advantage(0.0, 0.0), round(most_advantage(1.0, 0.0), 4)
    (0.0, 0.4621)
    """
    _check(epsilon, delta)
    against = math.exp(-min(epsilon, _LARGEST))
    return min(1.0, (1 - against + 2 * delta * against) / (1 + against))


def most_ordered(epsilon: float, delta: float) -> float:
    """The largest probability that a member scores above another text.

    >>> most_ordered(0.0, 0.0), round(most_ordered(1.0, 0.0), 4)
    (0.5, 0.8161)
    """
    _check(epsilon, delta)
    return 1 - math.exp(-min(epsilon, _LARGEST)) * max(0.0, 0.5 - delta)


def _check(epsilon: float, delta: float) -> None:
    if epsilon != math.inf:
        between("epsilon", epsilon, 0.0, math.inf)
    between("delta", delta, 0.0, 1.0)
