"""How batch size and noise change over a training run: a few stages, each of equal steps.

A ``Schedule`` is what a user requests: passes over the data, batch sizes, and the noise of each
stage. Several batch sizes, several relative amounts of noise, or equally many of both, make stages
of equal length.

A step of a stage with batch size B and noise multiplier z releases the clipped sum over a batch of
B units (on average) with noise of z times the clipping norm. The accountant charges every step at
its own batch size and noise, so any schedule is accounted for exactly. It must be fixed before
training: a schedule that reacts to the data would be a further release.

Reference
    Growing batches: Anil et al. 2021, "Large-scale differentially private BERT". Decreasing noise:
    Dupuy et al. 2021, "An efficient DP-SGD mechanism for large scale NLU models".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.accounting.delta import privacy_units
from sfumato.accounting.events import computable_noise
from sfumato.accounting.solving import round_up
from sfumato.core.checks import at_least, between, positive
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.training.sampling import Sampling

# More steps than any training takes; the composition of more would be mostly rounding error.
MOST_STEPS = 10_000_000
# Each stage is a different kind of release, which an accountant has to process separately.
MOST_STAGES = 50


@dataclass(frozen=True, kw_only=True)
class Stage:
    """``steps`` steps with one batch size and one noise multiplier; without noise, no privacy."""

    steps: int
    batch_size: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1)
        at_least("batch_size", self.batch_size, 1)
        computable_noise("noise_multiplier", self.noise_multiplier)


def growing_batches(
    *, steps: int, sizes: Sequence[int], noise_multiplier: float
) -> tuple[Stage, ...]:
    """As many stages as sizes, of (almost) equal length.

    >>> [stage.steps for stage in growing_batches(steps=10, sizes=[8, 16, 32], noise_multiplier=1)]
    [4, 3, 3]
    """
    return tuple(
        Stage(steps=length, batch_size=size, noise_multiplier=noise_multiplier)
        for length, size in zip(lengths(steps, len(sizes)), sizes, strict=True)
    )


def decreasing_noise(*, steps: int, batch_size: int, noise: Sequence[float]) -> tuple[Stage, ...]:
    """As many stages as noise multipliers, of (almost) equal length."""
    return tuple(
        Stage(steps=length, batch_size=batch_size, noise_multiplier=multiplier)
        for length, multiplier in zip(lengths(steps, len(noise)), noise, strict=True)
    )


def geometric(first: float, decay: float, count: int) -> tuple[float, ...]:
    """``count`` values, each ``decay`` times the one before.

    >>> geometric(8, 0.5, 3)
    (8.0, 4.0, 2.0)
    """
    start, factor = positive("first", first), positive("decay", decay)
    return tuple(start * factor**place for place in range(at_least("count", count, 1)))


def scale_stages(stages: Sequence[Stage], factor: float) -> tuple[Stage, ...]:
    """The same schedule with all noise multiplied by ``factor``, rounded up to a few digits."""
    return tuple(
        replace(stage, noise_multiplier=round_up(stage.noise_multiplier * factor))
        for stage in stages
    )


def first_steps(stages: Sequence[Stage], steps: int) -> tuple[Stage, ...]:
    """The first steps of a schedule."""
    between("steps", steps, 0, sum(stage.steps for stage in stages))
    kept, left = [], steps
    for stage in stages:
        if left == 0:
            break
        kept.append(replace(stage, steps=min(left, stage.steps)))
        left -= kept[-1].steps
    return tuple(kept)


def countable(steps: float) -> int:
    """The number of steps, rounded up; an error if there are too many to plan for.

    >>> countable(118.5), countable(1e20)
    Traceback (most recent call last):
        ...
    sfumato.core.errors.InvalidArgument: 1e+20 steps are more than can be planned for (10,000,000); take larger batches or fewer epochs
    """  # noqa: E501
    if not steps <= MOST_STEPS:
        raise InvalidArgument(
            f"{steps:.4g} steps are more than can be planned for ({MOST_STEPS:,}); take larger "
            "batches or fewer epochs"
        )
    return max(1, math.ceil(steps - 1e-9))


def each_step(stages: Sequence[Stage]) -> Iterator[Stage]:
    """The stage of every step in turn."""
    for stage in stages:
        yield from (stage for _ in range(stage.steps))


def lengths(steps: int, count: int) -> list[int]:
    """Steps in ``count`` parts of (almost) equal length."""
    at_least("steps", steps, max(1, at_least("number of stages", count, 1)))
    return [steps // count + (place < steps % count) for place in range(count)]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """``noise`` is the relative noise of each stage; the absolute noise is computed from epsilon.

    >>> from sfumato.training.sampling import Poisson
    >>> halved = Schedule(epochs=2, batch_sizes=(20,), noise=(1.0, 0.5))
    >>> [(one.steps, one.noise_multiplier) for one in halved.stages(100, Poisson())]
    [(5, 1.0), (5, 0.5)]
    """

    epochs: float
    batch_sizes: Sequence[int]
    noise: Sequence[float] = (1.0,)

    def __post_init__(self) -> None:
        positive("epochs", self.epochs)
        for size in self.batch_sizes:
            at_least("batch_size", size, 1)
        for share in self.noise:
            computable_noise("noise_schedule", positive("noise_schedule", share))
        counts = {len(self.batch_sizes), len(self.noise)}
        if 0 in counts:
            raise InvalidArgument("a schedule needs at least one batch size and amount of noise")
        if len(counts - {1}) > 1:
            raise InvalidArgument(
                f"{len(self.batch_sizes)} batch sizes and {len(self.noise)} amounts of noise do "
                "not make stages; give as many of both, or only one of either"
            )
        if max(counts) > MOST_STAGES:
            raise InvalidArgument(f"{max(counts)} stages are more than {MOST_STAGES}; give fewer")

    def stages(self, units: int, way: Sampling) -> tuple[Stage, ...]:
        """The stages for so many units; a batch size above the number of units is refused."""
        count = max(len(self.batch_sizes), len(self.noise))
        sizes = list(self.batch_sizes) * (count if len(self.batch_sizes) == 1 else 1)
        noise = list(self.noise) * (count if len(self.noise) == 1 else 1)
        way.check(
            privacy_units("units", units),
            [Stage(steps=1, batch_size=size, noise_multiplier=1.0) for size in sizes],
        )
        steps = max(count, way.steps(units, round(sum(sizes) / count), self.epochs))
        return tuple(
            Stage(steps=length, batch_size=size, noise_multiplier=share)
            for length, size, share in zip(lengths(steps, count), sizes, noise, strict=True)
        )
