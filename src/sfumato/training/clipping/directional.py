"""Releases of directions: every record counts by the direction of its gradient, with its own noise.

``DirectionalRelease`` replaces the gradient of each record by a draw from the von Mises–Fisher
distribution around its direction. ``PerRecordRelease``, its twin, adds Gaussian noise to the
direction of each record. The sum of the draws is divided by the mean cosine, a public number, so
that both estimate the same sum of directions.

Guarantee
    A step with noise multiplier z draws with concentration κ = √d/z for d trainable numbers; what a
    record costs is stated in ``accounting.directional``. A step has as many draws as its batch has
    places, whatever the records are: places of records without a direction, and places that are
    left empty, have a uniform draw.

Why it holds
    A record's draw depends on its own gradient alone. The sum of the draws has the law that
    ``vmf`` states, and is a function of them; all else is done to the sum.

Care
    The proof is for every single draw, as if each of them were seen. The sum hides more, but how
    much more is not proven. With Gaussian noise that is added once to a sum of clipped gradients,
    the same level takes less noise by a factor of √(batch size): see ``docs/how-to-train.md``.

    The concentration of a record is smaller by the ratio of its length to an upper bound of it
    (``rounding``), so that no record counts for more than a unit vector. Where rounding leaves
    the length in doubt by more than ``CLEAR``, or where it is below ``SHORTEST``, a record counts
    as having no direction. The guarantee does not cover the last bits of floating-point numbers, as
    with Gaussian noise (``release``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from sfumato.accounting.events import SampledGaussian
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.release import (
    NamedTensors,
    StepNoise,
    add_noise,
    refuse_undefined,
)
from sfumato.training.clipping.rounding import bound_formed, together
from sfumato.training.clipping.slots import Products, Records
from sfumato.training.clipping.vmf import DirectionSum, mean_cosine
from sfumato.training.processes.meetings import COUNTED, meet
from sfumato.training.processes.sums import add_up
from sfumato.training.processes.team import Team, leads

# A gradient that is shorter, or whose bound is larger than its length by this factor, has no
# direction.
SHORTEST = 1e-6
CLEAR = 1.05
# Numbers that are turned to double precision at a time.
AT_A_TIME = 1 << 16
# Streams of a contribution's randomness.
_DRAWS, _VECTOR = range(2)


@dataclass(frozen=True, eq=False)
class _GaussianVector:
    """The one Gaussian vector of a contribution, by parameter; zeros where there is no noise."""

    numbers: Mapping[str, Tensor]

    @classmethod
    def drawn(cls, parameters: Mapping[str, Tensor], noise: StepNoise) -> _GaussianVector:
        """In the shapes of some tensors."""
        made = {name: torch.zeros(one.shape).to(one) for name, one in parameters.items()}
        if noise.multiplier:
            add_noise(made.values(), 1.0, noise.randomness.stream(_VECTOR))
        return cls(made)

    def square(self) -> float:
        """The square of its length."""
        return float(_inner(self.numbers, self.numbers))

    def along(self, gradient: Mapping[str, Tensor]) -> Tensor:
        """Its inner product with a gradient."""
        return _inner(gradient, self.numbers)


@dataclass(frozen=True, eq=False)
class _Directions:
    """The records of a physical batch: bounds of their gradients, and inner products."""

    bounds: Tensor
    products: Products

    @cached_property
    def lengths(self) -> Tensor:
        """The lengths of their gradients."""
        return self.products.among.diagonal().sqrt()

    @property
    def exist(self) -> Tensor:
        """Which records have a direction."""
        clear = self.bounds <= CLEAR * self.lengths
        return clear & (self.lengths >= SHORTEST)

    def unit_gram(self) -> Floats:
        """The inner products of the directions; zeros for records without one."""
        scale = torch.where(self.exist, 1 / self.lengths.clamp(min=SHORTEST), 0.0)
        found: Floats = (scale[:, None] * self.products.among * scale).numpy()
        return found

    def shortened(self) -> Tensor:
        """Length over bound, at most 1; zero for records without a direction."""
        return torch.where(self.exist, (self.lengths / self.bounds).clamp(max=1.0), 0.0)

    def per_length(self, values: Tensor) -> Tensor:
        """Values divided by the lengths; zero for records without a direction."""
        return torch.where(self.exist, values / self.lengths.clamp(min=SHORTEST), 0.0)


class _PlaceCount:
    """How many places of a step have been filled, and with how much noise."""

    def __init__(self) -> None:
        self.filled = 0
        self.multiplier: float | None = None

    def agree(self, multiplier: float) -> None:
        """All draws of a step have the same noise; draws with less would not be accounted for."""
        if self.filled and self.multiplier != multiplier:
            raise InvalidArgument(
                "records of this step were drawn with another noise multiplier already; set "
                "`noise_multiplier` before the first batch of a step"
            )
        self.multiplier = multiplier

    def left(self, size: float, team: Team) -> int:
        """How many are empty in all processes; the next step begins with none filled."""
        places = round(size)
        everywhere = int(sum(row[0] for row in meet(team, COUNTED, [self.filled])))
        if places != size or everywhere > places:
            raise InvalidArgument(
                "a step has more records than its batch size, or a batch size that is no whole "
                "number; with directional noise the number of draws must be fixed beforehand"
            )
        self.filled = 0
        return places - everywhere


class DirectionalRelease:
    """Draws around the directions of the records' gradients.

    ``dimension`` is the number of trainable numbers of the model, ``batch_size`` that of draws.
    """

    sensitivity = 1.0
    saturation = SHORTEST
    adds_up_teams = True

    def __init__(self, dimension: int, batch_size: int) -> None:
        self.dimension, self.batch_size = dimension, batch_size
        self._places = _PlaceCount()

    def kappa(self, noise_multiplier: float) -> float:
        """The concentration of the draws of a step."""
        return math.sqrt(self.dimension) / noise_multiplier

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:
        """The sum of a draw for each record."""
        self._places.agree(noise.multiplier)
        bounds = recording.measure(records).bounds()
        refuse_undefined(bounds)
        shapes = {name: slot.parameter for name, slot in recording.slots.items()}
        vector = _GaussianVector.drawn(shapes, noise)
        found = recording.products(records, vector.numbers)
        seen = _Directions(bounds.to(found.among.device), found)
        return self._drawn(
            seen, vector, noise, lambda weights: recording.weighted_sums(weights, records)
        )

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:
        """The draw of one record."""
        self._places.agree(noise.multiplier)
        bounds = together([bound_formed(one[None]) for one in gradient.values()]).bounds()
        refuse_undefined(bounds)
        vector = _GaussianVector.drawn(gradient, noise)
        found = Products(_inner(gradient, gradient).reshape(1, 1), vector.along(gradient)[None])
        return self._drawn(
            _Directions(bounds.cpu(), found),
            vector,
            noise,
            lambda weights: ((name, one.mul_(float(weights[0]))) for name, one in gradient.items()),
        )

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:
        """Uniform draws for empty places; then the sum is divided by the mean cosine."""
        dimension = sum(one.numel() for one in sums)
        if dimension != self.dimension:
            raise InvalidArgument(
                f"directional noise was planned for {self.dimension:,} trainable numbers and the "
                f"model has {dimension:,}; another number changes what the noise proves"
            )
        self._places.agree(noise.multiplier)
        team, drawn = noise.team, self._places.filled
        empty = self._places.left(size, team)
        if not leads(team):
            empty = 0  # the first process draws for the places that nobody fills
        if empty and noise.multiplier:
            none = torch.zeros(empty, dtype=torch.float64)
            nothing = _Directions(none, Products(torch.diag(none), none))
            named = {str(number): one for number, one in enumerate(sums)}
            vector = _GaussianVector.drawn(named, noise)
            for name, one in self._drawn(nothing, vector, noise, lambda _: ()):
                named[name].add_(one)
            self._places.filled = 0
        # Each process has drawn for its own records: all draws together are as many as places.
        made = torch.tensor([float(drawn + empty)])
        add_up(team, sums, made, float(size))
        if not noise.multiplier:
            return
        cosine = mean_cosine(self.dimension, self.kappa(noise.multiplier))
        for one in sums:
            one.div_(cosine)

    def deviation(self, noise_multiplier: float) -> float:
        """Standard deviation of the noise in every coordinate of the sum."""
        if not noise_multiplier:
            return 0.0
        kappa = self.kappa(noise_multiplier)
        each = 1 / (math.sqrt(self.dimension) * mean_cosine(self.dimension, kappa))
        return each * math.sqrt(self.batch_size)

    def event(self, noise_multiplier: float, *, rate: float = 1.0) -> SampledGaussian:
        """A use of each record, for ``accounting.directional``."""
        return unsampled(noise_multiplier, rate)

    def restore(self, sensitivity: float) -> None:
        """Nothing changes from step to step."""

    def _drawn(
        self,
        seen: _Directions,
        vector: _GaussianVector,
        noise: StepNoise,
        weigh: Callable[[Tensor], NamedTensors],
    ) -> Iterator[tuple[str, Tensor]]:
        """The sum of the draws: a Gaussian vector, and the gradients with the weights it gives."""
        self._places.filled += len(seen.lengths)
        if not noise.multiplier:
            yield from weigh(seen.per_length(torch.ones_like(seen.lengths)))
            return
        kappas = self.kappa(noise.multiplier) * seen.shortened().numpy()
        stream = noise.randomness.stream(_DRAWS)
        drawn = DirectionSum.drawn(self.dimension, seen.unit_gram(), kappas, stream)
        along = seen.per_length(seen.products.along)
        coefficients, scale = drawn.coefficients(along.numpy(), vector.square())
        weights = seen.per_length(torch.from_numpy(coefficients))
        left = dict(vector.numbers)
        for name, one in weigh(weights):
            yield name, left.pop(name).mul_(scale).add_(one)
        for name, rest in left.items():
            yield name, rest.mul_(scale)


class PerRecordRelease:
    """The directions of the records' gradients, each with Gaussian noise of its own."""

    sensitivity = 1.0
    saturation = SHORTEST
    adds_up_teams = True

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self._places = _PlaceCount()

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:  # noqa: ARG002  # noise is added once, at the end
        """The directions of the records, summed."""
        measured = recording.measure(records)
        bounds = measured.bounds()
        refuse_undefined(bounds)
        self._places.filled += records.count
        exist = (bounds <= CLEAR * measured.norms()) & (measured.norms() >= SHORTEST)
        return recording.weighted_sums(torch.where(exist, 1 / bounds, 0.0), records)

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:  # noqa: ARG002
        """The direction of one record."""
        measured = together([bound_formed(one[None]) for one in gradient.values()])
        bound = measured.bounds()
        refuse_undefined(bound)
        self._places.filled += 1
        exists = float(measured.norms()[0]) >= SHORTEST
        scale = float(1 / bound[0]) if exists else 0.0
        return ((name, one.mul_(scale)) for name, one in gradient.items())

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:
        """The noise of all places together, those that are empty included."""
        self._places.left(size, noise.team)
        deviation, stream = noise.multiplier * math.sqrt(size), noise.randomness.stream(_VECTOR)
        noised = add_noise(sums, deviation, stream, noise.team)
        add_up(noise.team, sums, noised, float(deviation > 0))

    def deviation(self, noise_multiplier: float) -> float:
        """z·√(batch size)."""
        return noise_multiplier * math.sqrt(self.batch_size)

    def event(self, noise_multiplier: float, *, rate: float = 1.0) -> SampledGaussian:
        """A Gaussian release of each record's direction by itself."""
        return unsampled(noise_multiplier, rate)

    def restore(self, sensitivity: float) -> None:
        """Nothing changes from step to step."""


def unsampled(noise_multiplier: float, rate: float) -> SampledGaussian:
    """The event of a use; under sampling there is none."""
    if rate != 1.0:
        raise InvalidArgument(
            "noise that every record has of its own is not amplified by sampling: the length of "
            "the sum shows how many records there were"
        )
    return SampledGaussian(noise_multiplier=noise_multiplier)


def _inner(ones: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> Tensor:
    """The inner product of two gradients, in double precision."""
    pairs = ((one.detach().flatten(), others[name].flatten()) for name, one in ones.items())
    # Some numbers at a time: copies of all of them in double precision take long to write.
    parts = [
        torch.dot(one.double(), other.double()).cpu()
        for pair in pairs
        for one, other in zip(*(torch.split(whole, AT_A_TIME) for whole in pair), strict=True)
    ]
    return torch.stack(parts).sum()
