"""What one step releases of its batch: bounded records, noise, and the event to account for.

``steps.PrivateStep`` collects contributions and divides; a ``GradientRelease`` decides what each
record adds to the sum, which noise the sum gets, and which event that is for an accountant. A new
kind of release is a new class, without other changes.

Gaussian release
    Every record's gradient is scaled to a norm of at most C by a ``Clipper``, and the sum gets
    independent noise of standard deviation z·C in every coordinate, once: a Gaussian release with
    noise multiplier z (``clippers`` and ``rounding`` say why).

Care
    Noise for millions of parameters takes time, so several threads draw it, with a separate stream
    for each piece of the sum. With a seed it does not depend on the number of threads. Numbers are
    drawn and scaled in double precision and rounded to the precision of the parameter when they are
    added. Floating-point numbers are not real numbers: the lowest bits of a noisy sum can in
    principle reveal which sums were possible. This is true of every implementation of DP-SGD in
    floating point, and the guarantee does not cover it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.clippers import Adaptive, Clipper
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.rounding import bound_formed, together
from sfumato.training.clipping.slots import Records
from sfumato.training.processes.sums import add_up
from sfumato.training.processes.team import ALONE, Team, leads

_NUMBERS_AT_A_TIME = 1 << 17

# For some or all parameters, by name.
NamedTensors = Iterable[tuple[str, Tensor]]


@dataclass(frozen=True)
class StepNoise:
    """The noise multiplier of a step, the stream of its noise, and the team that takes the step."""

    multiplier: float
    randomness: Randomness
    team: Team = ALONE


class GradientRelease(Protocol):
    """What a step releases.

    A release may look at a batch through ``Recording``: norms, inner products with a direction, or
    the gradients of the records themselves. What it returns is added to the sum of the step.
    Numbers that are not finite are refused (``refuse_undefined``): they have no bound. One whose
    noise is all added in ``finish`` may say so by ``noise_at_the_end = True``; then what records
    add may be multiplied by shares of at most 1 before (``groups``). One whose ``finish`` adds up
    the sums of a team by ``processes.sums.add_up`` may say ``adds_up_teams = True``; others are for
    one process. One that looks at norms and sums only may say so by ``needs_norms_alone = True``;
    then they may come from two backward passes (``passes``).
    """

    @property
    def sensitivity(self) -> float:
        """The largest change of the sum when a record is added or removed."""

    @property
    def saturation(self) -> float:
        """The length from which on a gradient contributes at least half of the maximum."""

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:
        """The sum of what the records of a physical batch add; discards the batch."""

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:
        """The same of one record, from its gradient, which was summed over several batches."""

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:
        """Add noise to the sum of the step, in place, and prepare for the next step.

        Each process of a team has the sum of its own records, and leaves with that of all.

        ``sums`` has a tensor for every parameter, whether or not a record of the batch used it;
        ``size`` is the expected size of the batch, a public number.
        """

    def deviation(self, noise_multiplier: float) -> float:
        """Standard deviation of the noise in every coordinate of the sum, for optimizers."""

    def event(self, noise_multiplier: float, *, rate: float = 1.0) -> SampledGaussian:
        """The event of a step for an accountant; ``rate`` is the probability to be in its batch."""

    def restore(self, sensitivity: float) -> None:
        """Resume after an interruption, with the last sensitivity."""


class GaussianRelease:
    """Clipped gradients, summed, with Gaussian noise; adaptive clipping changes the bound."""

    # So that what records add may be shortened further before it (``steps``, ``groups``).
    noise_at_the_end = True
    adds_up_teams = True
    # So that nothing else has to be kept of a batch (``passes``).
    needs_norms_alone = True

    def __init__(self, clipper: Clipper) -> None:
        self.clipper = clipper
        self._count = 0.0

    @property
    def sensitivity(self) -> float:
        """The clipping norm."""
        return self.clipper.clip_norm

    @property
    def saturation(self) -> float:
        """The length at which clipping begins, or automatic clipping gives half the norm."""
        return self.clipper.clip_norm / float(self.clipper.scales(torch.zeros(1))[0])

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:  # noqa: ARG002  # noise is added once, at the end
        """The clipped gradients of the records, summed."""
        return recording.weighted_sums(self._scales(recording.measure(records).bounds()), records)

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:  # noqa: ARG002
        """The clipped gradient of one record."""
        whole = together([bound_formed(one[None]) for one in gradient.values()])
        scale = self._scales(whole.bounds())
        return ((name, one.mul_(scale)) for name, one in gradient.items())

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:
        """Noise on the sum, once; with adaptive clipping, noise on the count and the next bound."""
        team, deviation = noise.team, self.deviation(noise.multiplier)
        noised = add_noise(sums, deviation, noise.randomness.stream(0), team)
        due = torch.full_like(noised, float(deviation > 0))
        if not isinstance(self.clipper, Adaptive):
            add_up(team, sums, noised, due)
            return
        # The first process noises the count, which is as secret as the sum until then.
        drawn = float(noise.randomness.stream(1).normal(1, 1)[0, 0]) if leads(team) else 0.0
        noisy = torch.tensor([self._count + self.clipper.count_noise * drawn], dtype=torch.double)
        self._count = 0.0
        one = torch.ones(1)
        add_up(team, [*sums, noisy], torch.cat([noised, one * leads(team)]), torch.cat([due, one]))
        self.clipper = self.clipper.updated(float(noisy), size)

    def deviation(self, noise_multiplier: float) -> float:
        """z·C."""
        return noise_multiplier * self.clipper.clip_norm

    def event(self, noise_multiplier: float, *, rate: float = 1.0) -> SampledGaussian:
        """A Gaussian release, of the gradient and of the count if there is one."""
        return SampledGaussian(noise_multiplier=self.clipper.released(noise_multiplier), rate=rate)

    def restore(self, sensitivity: float) -> None:
        """Restore the bound of adaptive clipping; other bounds are fixed."""
        if isinstance(self.clipper, Adaptive):
            self.clipper = replace(self.clipper, initial=sensitivity)

    def _scales(self, bounds: Tensor) -> Tensor:
        refuse_undefined(bounds)
        if isinstance(self.clipper, Adaptive):
            self._count += self.clipper.count(bounds)
        return self.clipper.scales(bounds)


def refuse_undefined(bounds: Tensor) -> None:
    """Refuse a batch in which a record has no finite bound."""
    if not bool(bounds.isfinite().all()):
        # Which record it was, and how many there are, is secret like the sample.
        raise UndefinedGradient(
            "the gradient of a record in this batch is not finite; nothing of the batch was "
            "used. Lower the learning rate, or look for a division by zero in the loss"
        )


def add_noise(
    totals: Iterable[Tensor], deviation: float, randomness: Randomness, team: Team = ALONE
) -> Tensor:
    """Add independent noise of the given standard deviation to every coordinate, in place.

    ``randomness`` must be a stream that is used for nothing else: pieces take the streams below it.
    In a team each piece gets its noise from one process; the marks say which ones got it here.
    """
    pieces = [
        piece for total in totals for piece in torch.split(total.view(-1), _NUMBERS_AT_A_TIME)
    ]
    marks = torch.zeros(len(pieces))
    if not deviation:
        return marks

    def fill(index: int) -> None:
        drawn = randomness.stream(index).noise(len(pieces[index]))
        drawn *= deviation
        if pieces[index].device.type == "cpu":
            values = pieces[index].numpy()
            np.add(values, drawn, out=values, casting="same_kind")
        else:
            pieces[index].add_(torch.from_numpy(drawn).to(pieces[index]))
        marks[index] += 1

    places, at_once = range(team.rank, len(pieces), team.size), torch.get_num_threads()
    if at_once == 1:  # to start a thread takes longer than the noise of a small model
        for index in places:
            fill(index)
        return marks
    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(fill, places))
    return marks
