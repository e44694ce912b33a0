"""What a plan costs an account of another measure than levels and deltas.

Guarantee
    ``Costs.rho`` and ``Costs.divergence`` are upper bounds on what all releases of a plan cost
    together, in zero-concentrated privacy and at one order of Rényi divergence, for the neighbors
    that the plan speaks of, in both directions. So they may be added up with those of other plans
    for the same neighbors, however these were chosen.

Why it holds
    Divergences of an adaptive composition add up at every order (Mironov 2017, proposition 1).

    - *Gaussian releases* on a Poisson sample: for neighbors of which one lacks a unit, the larger
      of both directions is the one that ``divergences`` computes (Mironov, Talwar and Zhang 2019,
      theorem 5). Without sampling it is α/2z², so they are 1/2z²-zCDP.
    - *Draws among outcomes*: ``bounded_range``.
    - *Pure levels*: ε-DP has divergences of at most min(ε, α·ε²/2) (Bun and Steinke 2016,
      proposition 3.3).
    - *A unit exchanged for another* (``replaced``): without sampling a sum moves twice as far,
      which is four times the divergence. With sampling the unit is removed and another one added,
      and for every p > 1 the divergence at order α is at most (α − 1/p)/(α − 1) times that of the
      first step at order p·α, plus that of the second at order (p·α − 1)/(p − 1) (Mironov 2017,
      proposition 11); the best of several p is taken.

Care
    Zero-concentrated privacy knows no amplification by sampling: a sampled plan is refused there.
    A release that shows something of one unit with certainty, however rarely (a word that is shown
    above a threshold), has no finite divergence: ``unbounded`` says so, and it can be charged to an
    account of levels and deltas only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.accounting import bounded_range
from sfumato.accounting.divergences import bound_at
from sfumato.accounting.events import BoundedRange, Event, SampledGaussian
from sfumato.core.errors import IncomparableGuarantees

if TYPE_CHECKING:
    from collections.abc import Callable

_UP = 1 + 1e-12
# Hölder exponents that are tried for a unit that is exchanged.
_EXPONENTS = (1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The releases of a plan, and whom they are about; a few public numbers, and nothing else.

    ``unit`` and ``neighbors`` are in the words that all plans share, so that plans of different
    work add up. ``events`` are for neighbors of which one lacks a unit, unless ``replaced``;
    ``pure`` is the level of what else is released, without a delta. ``unbounded`` is the reason why
    there is no divergence, if there is none.
    """

    unit: str
    neighbors: str
    events: tuple[Event, ...] = ()
    pure: float = 0.0
    replaced: bool = False
    unbounded: str = ""

    def rho(self) -> float:
        """The level of zero-concentrated privacy."""
        self._refuse_unbounded()
        gaussians = [one for one in self.events if isinstance(one, SampledGaussian)]
        if any(one.rate < 1.0 for one in gaussians):
            raise IncomparableGuarantees(
                "this plan takes random batches, and zero-concentrated privacy does not know what "
                "that gains: it would cost many times what it does. Charge an account of the "
                "measure 'renyi' or 'approximate', or plan with `sampling='shuffled'`"
            )
        noisy = math.fsum(one.count / (2 * one.noise_multiplier**2) for one in gaussians)
        drawn = bounded_range.concentration(self._draws())
        return (self._moved * (noisy + drawn) + self.pure**2 / 2) * _UP

    def divergence(self, order: float) -> float:
        """The Rényi divergence at one order."""
        import numpy as np

        self._refuse_unbounded()
        found = [one.count * self._gaussian(one, order) for one in self.events
                 if isinstance(one, SampledGaussian)]  # fmt: skip
        if self._draws():
            if self.replaced:
                found.append(self._moved * order * bounded_range.concentration(self._draws()))
            else:
                found.append(float(bounded_range.total(self._draws(), np.array([order]))[0]))
        found.append(min(self.pure, order * self.pure**2 / 2))
        total = math.fsum(found) * _UP
        if not math.isfinite(total):
            raise IncomparableGuarantees(
                f"no bound on the divergence of this plan is known at order {order:g}; open an "
                "account of another order"
            )
        return total

    @property
    def _moved(self) -> float:
        """How much more a unit that is exchanged costs than one that is missing: twice as far."""
        return 4.0 if self.replaced else 1.0

    def _draws(self) -> list[BoundedRange]:
        return [one for one in self.events if isinstance(one, BoundedRange)]

    def _gaussian(self, event: SampledGaussian, order: float) -> float:
        def at(other: float) -> float:
            return bound_at(event.noise_multiplier, event.rate, other)

        if not self.replaced:
            return at(order)
        return self._moved * at(order) if event.rate == 1.0 else _exchanged(at, order)

    def _refuse_unbounded(self) -> None:
        silent = [one for one in self.events if isinstance(one, SampledGaussian)
                  and not one.noise_multiplier]  # fmt: skip
        if silent:
            raise IncomparableGuarantees("this plan has steps without noise: nobody can pay for it")
        if self.unbounded:
            raise IncomparableGuarantees(
                f"{self.unbounded}; charge an account of the measure 'approximate'"
            )


def _exchanged(at: Callable[[float], float], order: float) -> float:
    """One unit removed and another one added; every p is a proof of its own."""
    return min(
        (order - 1 / p) / (order - 1) * at(p * order) + at((p * order - 1) / (p - 1))
        for p in _EXPONENTS
    )


def pure_costs(unit: str, neighbors: str, epsilon: float) -> Costs:
    """Those of a release with a level and no delta."""
    return Costs(unit=unit, neighbors=neighbors, pure=epsilon)
