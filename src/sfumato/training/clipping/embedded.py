"""A release of gradients in two parts: their coordinates in a public basis, and what is left.

The gradient G of a record has an embedding e = B·G, its k coordinates in a basis B of k rows, and a
residual h = G − Bᵀe. Both are clipped, each to a norm of its own, and summed; both sums get noise;
Bᵀ·(sum of e) + (sum of h) is the noisy gradient. Where the basis is good, most of G is in k
numbers, and has the noise of k numbers; the residual is short, so its clipping norm, and with it
the noise on all coordinates, can be small.

Guarantee
    A step with noise multiplier z is a Gaussian release with multiplier z for adding or removing
    one record, as a step of DP-SGD is.

Why it holds
    With ‖e‖ <= C₁ and ‖h‖ <= C₂, the vector (e/C₁, h/C₂) has a norm of at most √2, and noise of
    √2·z in each of its coordinates makes it a Gaussian release with multiplier z. Multiplied by C₁
    and C₂, that is noise of √2·z·C₁ on the sum of the embeddings and of √2·z·C₂ on that of the
    residuals; or two releases with multipliers z₁ = z₂ = √2·z, for which 1/z² = 1/z₁² + 1/z₂². Both
    are clipped as they were formed, with the bounds of ``rounding``, so nothing depends on how
    exactly B was computed, or on whether its rows are orthonormal. What is left of the residuals'
    noise within the basis is removed, and the two are put together, after the noise.

Care
    The basis must be computed without the records of the step, or of any other private text: from
    public text and released weights (``methods.anchors``). It is the caller who must see to that.
    Gradients of the records of a physical batch are formed, so this is for small models, or few
    trained weights.

Reference
    Yu, Zhang, Chen and Liu 2021, "Do not let privacy overbill utility: gradient embedding
    perturbation for private learning" (algorithm 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.release import (
    NamedTensors,
    StepNoise,
    add_noise,
    refuse_undefined,
)
from sfumato.training.clipping.rounding import bound_formed, together, weigh
from sfumato.training.clipping.slots import Records
from sfumato.training.processes.sums import add_up

# Two parts are released, so each has noise of this many times the multiplier.
PARTS = math.sqrt(2)
# Numbers of each record that are turned to double precision at a time.
AT_A_TIME = 1 << 14


class EmbeddedRelease:
    """Embeddings and residuals, clipped to norms of their own, with noise on both.

    ``basis`` has k directions for every parameter, by name and in the order of the recording's
    slots: tensors of k, and then the shape of the parameter. It is set before each step.
    """

    adds_up_teams = True

    def __init__(self, embedding_norm: float, residual_norm: float) -> None:
        self.embedding, self.residual = Flat(embedding_norm), Flat(residual_norm)
        self.basis: Mapping[str, Tensor] = {}
        self._embedded: Tensor | None = None

    @property
    def sensitivity(self) -> float:
        """The largest change of what is put together of both sums."""
        return math.hypot(self.embedding.clip_norm, self.residual.clip_norm)

    @property
    def saturation(self) -> float:
        """From here on a part of a gradient may be clipped."""
        return min(self.embedding.clip_norm, self.residual.clip_norm)

    def contribute(self, recording: Recording, records: Records, noise: StepNoise) -> NamedTensors:  # noqa: ARG002  # noise is added once, at the end
        """The residuals of the records, clipped and summed; their embeddings are kept here."""
        if [*recording.slots] != [*self.basis]:
            raise InvalidArgument("a step needs a basis for exactly the weights that are trained")
        size = recording.measure(records).size
        return self._split(recording.gradients(records), size)

    def contribute_whole(self, gradient: Mapping[str, Tensor], noise: StepNoise) -> NamedTensors:  # noqa: ARG002
        """The same of one record."""
        formed = {name: one[None] for name, one in gradient.items()}
        size = together([bound_formed(one) for one in formed.values()]).size
        return self._split(formed, size)

    def finish(self, sums: Sequence[Tensor], size: float, noise: StepNoise) -> None:  # noqa: ARG002  # no bound is adapted
        """Noise on both sums, once; then they are put together."""
        embedded = self._sum_so_far()
        team, stream = noise.team, noise.randomness.stream
        deviation = PARTS * noise.multiplier
        of_embedding = deviation * self.embedding.clip_norm
        noised = (
            add_noise(sums, deviation * self.residual.clip_norm, stream(0), team),
            add_noise([embedded], of_embedding, stream(1), team),
        )
        add_up(team, [*sums, embedded], torch.cat(noised), float(deviation > 0))
        # From here on nothing is private. No residual has a part within the basis, only its noise
        # does: that is taken out, and the noisy embedding takes its place.
        places = [
            piece
            for one, basis in zip(sums, self.basis.values(), strict=True)
            for piece in _pieces(one.view(1, -1), basis)
        ]
        within = sum((basis @ one[0].double() for one, basis in places), torch.zeros_like(embedded))
        for one, basis in places:
            one.add_((embedded - within) @ basis)
        self._embedded = None

    def deviation(self, noise_multiplier: float) -> float:
        """Of the noise outside of the basis, where nearly all coordinates are."""
        return PARTS * noise_multiplier * self.residual.clip_norm

    def event(self, noise_multiplier: float, *, rate: float = 1.0) -> SampledGaussian:
        """A Gaussian release of both parts together."""
        return SampledGaussian(noise_multiplier=noise_multiplier, rate=rate)

    def restore(self, sensitivity: float) -> None:
        """Nothing changes from step to step but the basis, which is computed anew."""

    def _split(self, gradients: Mapping[str, Tensor], size: Tensor) -> NamedTensors:
        """Clip both parts of every record; ``size`` is what its gradient was summed of."""
        left = {
            # A parameter that nobody used has no gradient, but may have a part of the basis.
            name: gradients[name].flatten(1).clone()
            if name in gradients
            else basis.new_zeros(len(size), basis[0].numel())
            for name, basis in self.basis.items()
        }
        places = [piece for name, one in left.items() for piece in _pieces(one, self.basis[name])]
        embedded = torch.zeros(len(size), len(self._sum_so_far()), dtype=torch.float64)
        for one, basis in places:
            embedded += one.double() @ basis.t()
        for one, basis in places:
            one.sub_(embedded @ basis)
        single = places[0][0].dtype
        along = replace(bound_formed(embedded), size=size, dtype=single).bounds()
        # In the shapes of the parameters: one sum over a large one has no bound in its precision.
        shaped = [one.view(len(size), *self.basis[name].shape[1:]) for name, one in left.items()]
        across = replace(together([bound_formed(one) for one in shaped]), size=size).bounds()
        refuse_undefined(along)
        refuse_undefined(across)
        scales = self.residual.scales(across)
        scales = torch.where(scales < torch.finfo(single).tiny, 0.0, scales).to(single)
        residuals = [
            (name, weigh(scales, one).view(self.basis[name].shape[1:]))
            for name, one in left.items()
        ]
        # Last: a batch that fails before, for lack of memory, may be given again, and counts once.
        self._embedded = self._sum_so_far() + weigh(self.embedding.scales(along), embedded)
        return residuals

    def _sum_so_far(self) -> Tensor:
        if not self.basis:
            raise InvalidArgument("there is no basis for the gradients; set one before each step")
        if self._embedded is None:
            count = len(next(iter(self.basis.values())))
            self._embedded = torch.zeros(count, dtype=torch.float64)
        return self._embedded


def _pieces(rows: Tensor, basis: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Some columns of both at a time, those of the basis in double precision."""
    both = (torch.split(one, AT_A_TIME, dim=1) for one in (rows, basis.flatten(1)))
    for some, others in zip(*both, strict=True):
        yield some, others.double()
