"""Whoever stops when luck is on his side: a fixed limit keeps its delta, and a sum so far does not.

Gaussian releases of multiplier 4, up to 1,000 of them, and a delta of 10⁻³. The loss of a release
is Gaussian, so the distribution of the loss so far is computed, release by release, and what has
stopped is taken out of it. Nothing is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from budget_claims import approximate
from paid_work import ACCOUNT, new_payment
from sfumato.accounting.budget import Account, AccountName, Amount, Budget, Limit
from sfumato.accounting.budget.shared import Request
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.core.errors import InvalidArgument

NOISE, DELTA, MOST, STEP = 4.0, 1e-3, 1000, 0.04
EXTRA = 0.5
LOSSES = np.arange(-40.0, 110.0, STEP)

Stated = Callable[[int], float]


def level(releases: int) -> float:
    """What so many releases are proven to have, if their number was fixed before."""
    return gaussian_epsilon(math.sqrt(releases) / NOISE, DELTA)


def reached(stated: Stated) -> float:
    """The delta of who stops when the loss is above the level that the ledger would state."""
    reach = int(8 / NOISE / STEP)
    around = np.arange(-reach, reach + 1) * STEP
    one = np.exp(-(((around - 1 / (2 * NOISE**2)) * NOISE) ** 2) / 2)
    chances = np.zeros(len(LOSSES))
    chances[int(np.abs(LOSSES).argmin())] = 1.0
    found = 0.0
    for releases in range(1, MOST + 1):
        chances = np.convolve(chances, one / one.sum(), "same")
        claimed = stated(releases)
        stops = claimed + (EXTRA if releases < MOST else 0.0) <= LOSSES
        found += float((chances[stops] * -np.expm1(claimed - LOSSES[stops])).sum())
        chances[stops] = 0.0
    return found


def test_a_fixed_limit_keeps_its_delta_whenever_one_stops() -> None:
    exact = level(MOST)
    assert reached(lambda _: exact) <= DELTA  # 0.69 times
    filtered = Limit.of("rho", MOST / (2 * NOISE**2)).epsilon(DELTA)
    assert reached(lambda _: filtered) <= DELTA


def test_a_twin_that_states_what_was_used_so_far_exceeds_it_ten_times() -> None:
    assert reached(level) > 9 * DELTA


class Refunding(Budget):
    """A twin that gives back what was not used, also where a plan is one charge."""

    def settle(self, name: str, key: str, amount: Amount | None = None) -> Account:
        self._store.settle(self._code(AccountName.read(name)), key, amount or Amount(0), None)
        return self.show(name)


def test_a_twin_that_refunds_a_plan_states_what_was_used_so_far(tmp_path: Path) -> None:
    """So it exceeds its delta as that twin does; the budget itself gives nothing back."""
    payment = new_payment(tmp_path, Limit.of("approximate", 60.0, delta=DELTA))
    plan, taken = approximate(level(MOST), DELTA), Amount.charged(level(10), DELTA)
    with Budget.at(payment.budget, payment.key) as budget:
        budget.hold(ACCOUNT, plan, Request("plan"))
        with pytest.raises(InvalidArgument, match="gives nothing back"):
            budget.settle(ACCOUNT, "plan", taken)
    with Refunding.at(payment.budget, payment.key) as twin:
        assert twin.settle(ACCOUNT, "plan", taken).spent == taken
