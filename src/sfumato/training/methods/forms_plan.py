"""A plan of private steps that begins with a private histogram of forms: one level for both.

Guarantee
    The forms and all weights together are (ε, δ)-DP, for the units and neighbors of the plan's
    steps. The level is the smaller of

    - the level of the histogram, plus that of the steps at what its delta leaves of δ, and
    - −ln(1 − p) + the level, at δ − p, of the steps together with one Gaussian release without
      sampling, whose noise multiplier is that of the histogram; p is the largest probability that
      a form which only one unit has is shown.

Why it holds
    As for a private tokenizer (``vocabulary``): for any unit the histogram is a Gaussian release
    unless something is shown that only this unit has (``histograms.thresholds``), and the steps are
    chosen after it, an adaptive composition. A unit that is missing is missing in both: it gives no
    form, and adds nothing to a sum.

    Noise is solved for the level of both (``Plan.with_epsilon``), so that forms take from the level
    that was asked for, and add nothing to it. The noise of the histogram is known before anything
    is read. A tenth of delta is its own: the threshold hardly grows as that shrinks, and steps need
    more noise for all that is taken from theirs.

Care
    The level after no step at all is that of the forms: they are drawn first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import at_most
from sfumato.histograms.thresholds import SHOWN_ALONE, Noise, solve_noise
from sfumato.training.methods.forms import CONTRIBUTION
from sfumato.training.plan import Plan, quietly

# What is taken of delta.
SHARE = 0.1
SCOPE = "the forms of made-up values, and the weights of the model after every step"


@dataclass(frozen=True, kw_only=True)
class FormsPlan(Plan):
    """Private steps after a histogram of forms with this noise."""

    forms: Noise

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbors != "add-or-remove":
            raise InvalidArgument(
                "the level of forms is for units that are there or not; this plan is for units "
                "that are exchanged, and the two do not add up"
            )

    @classmethod
    def before(cls, draft: Plan, epsilon: float) -> FormsPlan:
        """The plan with forms at a level of their own, before its noise is solved."""
        noise = solve_noise(epsilon, float(draft.delta) * SHARE, CONTRIBUTION)
        with quietly():
            return cls(**{one.name: getattr(draft, one.name) for one in fields(draft)}, forms=noise)

    def level(self, events: tuple[SampledGaussian, ...], delta: float, neighbors: str) -> float:
        """The proven level of the forms and some releases of this plan."""
        if delta > 0:
            # An accountant that has no answer for all of delta has none for a part of it, and says
            # why: no level of noise is to blame.
            super().level(events, delta, neighbors)
        added = self._at(events, delta - self.forms.delta, neighbors) + self.forms.epsilon
        alone = self.forms.shown_alone
        first = SampledGaussian(noise_multiplier=self.forms.multiplier)
        composed = self._at((*events, first), delta - alone, neighbors) - math.log1p(-alone)
        return min(added, composed)

    def _at(self, events: tuple[SampledGaussian, ...], delta: float, neighbors: str) -> float:
        if delta <= 0:
            return math.inf
        try:
            return super().level(events, delta, neighbors)
        except InvalidArgument:  # this accountant has no answer for so small a delta
            return math.inf

    def costs(self, after_steps: int | None = None) -> Costs:
        """As those of the steps, but without a divergence: something may be shown for certain."""
        costs = super().costs(after_steps)
        first = SampledGaussian(noise_multiplier=self.forms.multiplier)
        return replace(costs, events=(*costs.events, first), unbounded=SHOWN_ALONE)

    def guarantee(self, after_steps: int | None = None) -> Guarantee:
        """The guarantee of the forms, and of the model after so many steps."""
        made = super().guarantee(after_steps)
        return made if made.notion is Notion.NONE else replace(made, scope=SCOPE)

    def parts(self) -> dict[str, Any]:
        """Both levels, and how they were put together; for JSON."""
        left = float(self.delta) - self.forms.delta
        model, together = self._at(self.events(), left, self.neighbors), self.epsilon()
        added = model + self.forms.epsilon
        return {
            "forms": {"epsilon": self.forms.epsilon, "delta": self.forms.delta},
            "model": {"epsilon": model, "delta": left},
            "together": {"epsilon": together, "delta": float(self.delta)},
            "how": (
                f"the noise of both composed ({self.accountant}); the sum of the levels is "
                f"{at_most(added, 4)}"
                if together < added
                else "the sum of both levels and deltas"
            ),
        }

    def summary(self) -> str:
        """Steps and noise in a line."""
        return f"{super().summary()}, after forms at ε ≤ {at_most(self.forms.epsilon, 4)}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return super().as_dict() | {"forms": self.forms.as_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FormsPlan:
        """The inverse of ``as_dict``."""
        try:
            noise = Noise.from_dict(values["forms"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(f"this is not a plan: {error}") from None
        with quietly():
            common = Plan.from_dict({key: values[key] for key in values if key != "forms"})
            return cls(
                **{one.name: getattr(common, one.name) for one in fields(common)}, forms=noise
            )
