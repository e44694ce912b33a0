"""The order of a Rényi account, for plans that are known when it is opened.

Guarantee
    An account that is opened with ``Choice.limit`` keeps the level and the delta that were asked
    for, whatever is charged to it: plans of the described kind, or others.

Why it holds
    The limit at order α is the divergence that proves this level at this delta (``orders``),
    rounded down. The order is chosen by a plan that is public and before anything is charged, so it
    is as fixed as any other.

Care
    At another order the same plans may not fit. Most orders near the best do almost as well, so one
    order serves plans that are alike; plans of another kind have an order of their own, and so an
    account of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.accounting.budget.accounts import Limit
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.costs import Costs
from sfumato.core.checks import between, positive
from sfumato.core.errors import InvalidArgument

# Orders that are tried: 1 + 10^x, first coarsely and then around the best.
_FIRST, _LAST, _TRIED = -1.5, 3.0, 46
_DIGITS = 3


@dataclass(frozen=True)
class Choice:
    """An order with its limit, what the plan costs there, and how many such plans fit."""

    limit: Limit
    cost: Amount

    @property
    def order(self) -> float:
        """The order."""
        return float(self.limit.order or math.inf)

    @property
    def plans(self) -> int:
        """How many such plans fit."""
        return self.limit.most.units // max(1, self.cost.units)


def choose_order(costs: Costs, epsilon: float, delta: float) -> Choice:
    """The order at which most plans of this cost fit into a limit of a level and a delta.

    >>> from sfumato.accounting.events import SampledGaussian
    >>> plan = Costs(unit="example", neighbors="", events=(SampledGaussian(noise_multiplier=10.0),))
    >>> found = choose_order(plan, epsilon=8.0, delta=1e-5)
    >>> found.plans, found.limit.epsilon(1e-5) <= 8.0
    (245, True)
    """
    positive("limit", epsilon)
    if not 0 < between("delta", delta, 0.0, 1.0) < 1:
        raise InvalidArgument(
            "a limit for plans is a level and a delta between 0 and 1, such as `delta=1e-5`"
        )
    step = (_LAST - _FIRST) / (_TRIED - 1)
    powers = [_FIRST + step * place for place in range(_TRIED)]
    best = max(powers, key=lambda power: _fitting(costs, epsilon, delta, _order(power)))
    near = [best + step * (place / 10 - 1) for place in range(21)]
    orders = {_order(power) for power in near}
    order = max(orders, key=lambda one: (_fitting(costs, epsilon, delta, one), -one))
    most = _limit(epsilon, delta, order)
    if most <= 0:
        raise InvalidArgument(
            f"a level of {epsilon:g} at a delta of {delta:g} is too little for any order; take a "
            "larger delta, or an account of the measure 'approximate'"
        )
    return Choice(Limit.of("renyi", most, order=order), Amount.charged(costs.divergence(order)))


def _order(power: float) -> float:
    return float(f"{1 + 10**power:.{_DIGITS}g}")


def _fitting(costs: Costs, epsilon: float, delta: float, order: float) -> float:
    """How many plans fit at an order; not a whole number."""
    if order <= 1:
        return -math.inf
    return _limit(epsilon, delta, order) / max(costs.divergence(order), 1e-15)


def _limit(epsilon: float, delta: float, order: float) -> float:
    """The divergence at an order that proves a level at a delta, rounded down."""
    found = epsilon - math.log1p(-1 / order) + math.log(delta * order) / (order - 1)
    return math.floor(found * (1 - 1e-9) * 1e6) / 1e6
