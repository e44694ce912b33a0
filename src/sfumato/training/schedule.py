"""A schedule as a user asks for it: passes over the data, batch sizes, noise from stage to stage.

Several batch sizes, several relative amounts of noise, or as many of both, are stages of equal
length. A schedule is fixed before training and every step is charged as it is (``stages``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.accounting.delta import privacy_units
from sfumato.accounting.events import computable_noise
from sfumato.core.checks import at_least, positive
from sfumato.core.errors import InvalidArgument
from sfumato.training.sampling import Sampling
from sfumato.training.stages import Stage, lengths

# Each stage is a release of its own kind, which an accountant has to work on by itself.
MOST_STAGES = 50


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """``noise`` is that of each stage against the others; what they are in all is solved for.

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
                "not make stages; give as many of both, or one of one of them"
            )
        if max(counts) > MOST_STAGES:
            raise InvalidArgument(f"{max(counts)} stages are more than {MOST_STAGES}; give fewer")

    def stages(self, units: int, way: Sampling) -> tuple[Stage, ...]:
        """The stages for so many units; a batch of more than there are is refused."""
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
