"""A plan for private training: everything that decides privacy, in one frozen object.

``TrainingPlan`` is the protocol of the plans of all methods; ``Plan`` is that of DP-SGD.

Guarantee
    (epsilon, delta)-DP of all iterates together, for neighbors that differ in one privacy unit.
    ``add-or-remove`` (default): one corpus lacks a unit of the other, and its place is left empty,
    so that the number of units, the sampling rate and the divisor are the same public constants.
    ``replacement``: a unit is replaced by another.

Why it holds
    Every step releases the sum of clipped contributions of its batch plus Gaussian noise, and the
    next step is computed from what has been released. So the steps are an adaptive composition of
    the events that the plan's sampling states. Learning rate, optimizer and every use of the
    weights are post-processing. Replacement: without sampling a sum moves by at most 2C, so the
    noise counts half; with sampling, a unit is removed and another added
    (``accounting.accountants``).

Care
    The plan is public and must be chosen before looking at the data. Settings that were tuned on
    the private data are further releases, which are not accounted for.

What an example is
    A guarantee for examples is worth as much as one example holds, and a file does not show what
    counts as one. ``record`` says it in a public word or two: ``paragraph``, ``article``, ``support
    ticket``. It appears in the sentence of the guarantee; it is written in the clear, and nothing
    is computed from it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, Self

from sfumato.accounting.accountants import ACCOUNTANTS, Spent, compute_spending, replacing_one
from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.delta import caution, privacy_units, resolve_delta
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.reconstruction import most_rebuilt
from sfumato.accounting.solving import least
from sfumato.core.checks import one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import update_names
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import LACKS_ONE, Guarantee, Notion, no_guarantee
from sfumato.guarantees.record import check_record
from sfumato.training.clipping.clippers import Clipping
from sfumato.training.sampling import Poisson, Sampling, sampling
from sfumato.training.stages import Schedule, Stage, countable, each_step, first_steps, scale_stages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.training.clipping.release import GradientRelease


UNITS = ("author", "example")
NEIGHBORS = {
    "add-or-remove": LACKS_ONE,
    "replacement": "two corpora that differ in one {unit}, exchanged for another",
}
_SCOPE = "the weights of the model after every step"
_LEAKS = ("the plan, the number of {unit}s included",)
_UNCOVERED = {
    "example": ("what several examples of one person show together",),
    "author": (),
}


class PrivacyCaution(UserWarning):
    """Something that is allowed, but that the user should know."""


class TrainingPlan(Protocol):
    """What a run needs from a plan, whatever the method.

    ``units`` is the number of protected units, a public number; the level is stated at ``delta``.
    """

    @property
    def units(self) -> int:
        """How many privacy units there are."""

    @property
    def delta(self) -> float | str:
        """The probability with which the level may not hold."""

    @property
    def steps(self) -> int:
        """The number of all steps; no more may be charged."""

    @property
    def private(self) -> bool:
        """Whether every step on private text has noise."""

    @property
    def noise_multiplier(self) -> float:
        """The least noise of any step."""

    def epsilon(self, after_steps: int | None = None) -> float:
        """The proven level after so many steps; infinite without noise."""

    def so_far(self, steps: int) -> float:
        """A proven level after so many steps, computed fast enough for a progress bar."""

    def guarantee(self) -> Guarantee:
        """The guarantee of the model after all steps."""

    def start(self, randomness: Randomness) -> Mapping[str, int]:
        """What the ledger stores at the start, so that a run can be resumed."""

    def summary(self) -> str:
        """Steps and noise in a line."""

    def as_in_the_paper(self) -> dict[str, Any]:
        """The level by the accounting of a paper, marked as such, if there is one; else empty."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything that decides privacy; on resuming it must be the same."""


@dataclass(frozen=True)
class LogicalBatch:
    """The batch of a step. ``members`` and their number are secret under Poisson sampling.

    The sum of clipped contributions, with noise of ``noise_multiplier`` times the clipping norm, is
    divided by ``size``: the batch size that was planned, never the number of members.
    """

    step: int
    members: NDArray[np.intp]
    size: int
    noise_multiplier: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sampling, clipping, noise, accountant and unit of privacy; ``record`` says what a unit is.

    >>> plan = Plan.for_epsilon(epsilon=8, units=5056, batch_size=128, epochs=3)
    >>> plan.steps, plan.delta, plan.epsilon() <= 8, round(plan.noise_multiplier, 3)
    (119, 8.4e-05, True, 0.54)
    """

    units: int
    stages: tuple[Stage, ...]
    delta: float | str = "auto"
    unit: str = "example"
    neighbors: str = "add-or-remove"
    sampling: Sampling = field(default_factory=Poisson)
    clipping: Clipping = field(default_factory=Clipping)
    accountant: str = "pld"
    record: str = ""

    def __post_init__(self) -> None:
        one_of("unit", self.unit, UNITS)
        check_record(self.record, self.unit)
        one_of("neighbors", self.neighbors, NEIGHBORS)
        one_of("accountant", self.accountant, ACCOUNTANTS)
        privacy_units("units", self.units)
        if not self.stages:
            raise InvalidArgument("a plan needs at least one stage")
        countable(self.steps)
        self.sampling.check(self.units, self.stages)
        object.__setattr__(self, "stages", tuple(self.stages))
        object.__setattr__(self, "delta", resolve_delta(self.delta, self.units))
        for sentence in self.cautions():
            warnings.warn(sentence, PrivacyCaution, stacklevel=3)

    @classmethod
    def for_epsilon(
        cls,
        *,
        epsilon: float,
        units: int,
        batch_size: int,
        epochs: float,
        delta: float | str = "auto",
        accountant: str = "pld",
    ) -> Plan:
        """The plan with the least noise that keeps ``epsilon``; infinity means no privacy.

        For another unit, sampling, clipping or schedule: ``Plan(…).with_epsilon(epsilon)``.
        """
        stages = Schedule(epochs=epochs, batch_sizes=(batch_size,)).stages(units, Poisson())
        with quietly():  # the resulting plan warns
            template = cls(units=units, stages=stages, delta=delta, accountant=accountant)
        return template.with_epsilon(epsilon)

    @property
    def steps(self) -> int:
        """All steps together."""
        return sum(stage.steps for stage in self.stages)

    @property
    def noise_multiplier(self) -> float:
        """The least noise of any step."""
        return min(stage.noise_multiplier for stage in self.stages)

    @property
    def private(self) -> bool:
        """Whether every step has noise."""
        return self.noise_multiplier > 0

    def events(self, after_steps: int | None = None) -> tuple[SampledGaussian, ...]:
        """The releases of the first steps, for neighbors by removal of a unit."""
        steps = self.steps if after_steps is None else after_steps
        released = tuple(
            replace(stage, noise_multiplier=self.clipping.released(stage.noise_multiplier))
            for stage in first_steps(self.stages, steps)
        )
        return self.sampling.events(self.units, released)

    def costs(self, after_steps: int | None = None) -> Costs:
        """What the first steps cost in divergences; places that are left empty are all alike."""
        return Costs(
            unit=self.unit,
            neighbors=NEIGHBORS[self.neighbors].format(unit=self.unit),
            events=self.events(after_steps),
            replaced=self.neighbors == "replacement",
        )

    def epsilon(self, after_steps: int | None = None) -> float:
        """The proven level after so many steps, at the plan's delta; infinite without noise."""
        steps = self.steps if after_steps is None else after_steps
        return self.level(self.events(steps), float(self.delta), self.neighbors)

    def level(self, events: tuple[SampledGaussian, ...], delta: float, neighbors: str) -> float:
        """The proven level of some releases of this plan."""
        return _epsilon(events, delta, neighbors, self.accountant)

    def most_rebuilt(self, prior: float) -> float:
        """The largest probability to guess a unit that is guessed with ``prior`` without the model.

        See ``accounting.reconstruction``; neighbors are those that lack the unit.
        """
        events = self.events()

        def level_at(delta: float) -> float:
            try:
                return self.level(events, delta, "add-or-remove") if delta else math.inf
            except InvalidArgument:  # this accountant has no answer for so small a delta
                return math.inf

        return most_rebuilt(level_at, prior) if self.private else 1.0

    def so_far(self, steps: int) -> float:
        """A level after so many steps, computed fast: a little too large, but exact at the end."""
        from sfumato.training.spending import Spending

        return Spending(plan=self).so_far(steps)

    def release(self) -> GradientRelease:
        """What a step of this plan releases, for ``PrivateStep``."""
        from sfumato.training.clipping.release import GaussianRelease

        return GaussianRelease(self.clipping.clipper())

    def start(self, randomness: Randomness) -> Mapping[str, int]:
        """What the plan's sampling stores."""
        return self.sampling.start(randomness)

    def summary(self) -> str:
        """Steps and noise in a line."""
        if not self.private:
            return f"{self.steps:,} steps without noise or clipping: nothing will be guaranteed"
        noise = dict.fromkeys(f"{stage.noise_multiplier:.4g}" for stage in self.stages)
        return f"{self.steps:,} steps with noise multiplier {', then '.join(noise)}"

    def as_in_the_paper(self) -> dict[str, Any]:
        """Empty: papers account for it in the same way."""
        return {}

    def guarantee(self, after_steps: int | None = None) -> Guarantee:
        """The guarantee of the model after so many steps."""
        epsilon = self.epsilon(after_steps)
        if math.isinf(epsilon):
            return replace(no_guarantee(unit=self.unit, scope=_SCOPE), record=self.record)
        return Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit=self.unit,
            neighbors=NEIGHBORS[self.neighbors].format(unit=self.unit),
            epsilon=max(epsilon, 1e-12),  # a guarantee needs a level above 0
            delta=float(self.delta),
            record=self.record,
            scope=_SCOPE,
            leaks=tuple(leak.format(unit=self.unit) for leak in _LEAKS),
            uncovered=_UNCOVERED[self.unit],
        )

    def cautions(self) -> tuple[str, ...]:
        """Warnings about settings that are allowed, a sentence each."""
        said = caution(float(self.delta), self.units) if self.private else None
        return () if said is None else (said,)

    def with_epsilon(self, epsilon: float) -> Self:
        """The same plan with all noise scaled to keep ``epsilon``, and no more than that."""
        if epsilon == math.inf:
            return replace(self, stages=scale_stages(self.stages, 0.0))
        if not self.private:
            raise InvalidArgument("noise of 0 cannot be scaled; plan with some noise first")
        wanted = positive("epsilon", epsilon)

        def level(factor: float, accountant: str = self.accountant) -> float:
            trial = silently(self, stages=scale_stages(self.stages, factor), accountant=accountant)
            return trial.epsilon()

        guess = 1.0
        if self.accountant == "pld":
            # Rényi divergences are faster, and their answer is close; it need not be exact.
            near = least(lambda factor: level(factor, "rdp"), wanted, guess, close=0.05)
            guess = near if 0 < near < math.inf else guess
        factor = least(level, wanted, guess)
        if math.isinf(factor):
            raise InvalidArgument(
                f"epsilon={epsilon:g} cannot be reached with any noise on the gradient; allow "
                "more, use the accountant pld, or more noise on the counts of adaptive clipping"
            )
        if factor == 0.0:
            raise InvalidArgument(
                f"epsilon={epsilon:g} is so large that hardly any noise is left; "
                "epsilon=inf plans without privacy"
            )
        return replace(self, stages=scale_stages(self.stages, factor))

    def steps_within(self, epsilon: float) -> int:
        """How many steps of this plan may be taken before ``epsilon`` is exceeded."""
        low, high = 0, self.steps + 1  # ``low`` steps are within, ``high`` are not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.epsilon(middle) <= epsilon else (low, middle)
        return low

    def batches(
        self, randomness: Randomness, saved: Mapping[str, int], *, first: int = 0
    ) -> Iterator[LogicalBatch]:
        """The batches from step ``first`` on; ``saved`` is what ``sampling.start`` gave.

        For a resumed run ``first`` is the number of steps charged, whether or not their results
        were saved: a step is never taken twice.
        """
        draw = self.sampling.drawing(self.units, randomness, saved)
        for step, stage in enumerate(each_step(self.stages)):
            if step >= first:
                members = draw(step, stage.batch_size)
                yield LogicalBatch(step, members, stage.batch_size, stage.noise_multiplier)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = {name: getattr(self, name) for name in _PLAIN}
        if self.record:
            values["record"] = self.record
        return values | {
            "sampling": self.sampling.name,
            "clipping": asdict(self.clipping),
            "stages": [asdict(stage) for stage in self.stages],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The inverse of ``as_dict``."""
        values = update_names(values)
        unknown = set(values) - {*_PLAIN, "record", "sampling", "clipping", "stages"}
        if unknown:
            raise InvalidArgument(f"not part of a plan: {', '.join(sorted(unknown))}")
        try:
            return cls(
                **{name: values[name] for name in _PLAIN},
                record=values.get("record", ""),
                sampling=sampling(values["sampling"]),
                clipping=Clipping(**values["clipping"]),
                stages=tuple(Stage(**stage) for stage in values["stages"]),
            )
        except (KeyError, TypeError) as error:
            raise InvalidArgument(f"this is not a plan: {error}") from None


_PLAIN = ("units", "delta", "unit", "neighbors", "accountant")


@contextmanager
def quietly() -> Iterator[None]:
    """Hide the warnings of plans, for callers that show ``cautions`` in another way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyCaution)
        yield


def silently(plan: Plan, **changes: Any) -> Plan:
    """The plan with other fields, without repeating its warnings."""
    with quietly():
        return replace(plan, **changes)


@lru_cache(maxsize=4096)
def _epsilon(
    events: tuple[SampledGaussian, ...], delta: float, neighbors: str, accountant: str
) -> float:
    if neighbors == "add-or-remove":
        return _spent(events, accountant).epsilon(delta)
    if all(event.rate == 1.0 for event in events):
        # A replaced unit moves each sum by at most 2C, as if the noise were half as large.
        halved = [replace(event, noise_multiplier=event.noise_multiplier / 2) for event in events]
        return compute_spending(halved, accountant).epsilon(delta)
    return replacing_one(_spent(events, accountant), delta)


@lru_cache(maxsize=4)
def _spent(events: tuple[SampledGaussian, ...], accountant: str) -> Spent:
    """Composing takes most of the time, and the same releases are asked for at several deltas."""
    return compute_spending(events, accountant)
