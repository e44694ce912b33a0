"""The noisy mean of what clients send in a round: each bounded by itself, noise once.

Guarantee
    A round releases (Σ_i b_i + N(0, (zC)²)) / K, with ‖b_i‖ ≤ C for the update of every client: a
    Gaussian release with noise multiplier z for adding or removing one client. K is the *expected*
    number of clients, a public number.

Why it holds
    Updates are added up as whole numbers, in units of C/2³². The update of a client, times a factor
    that depends on this update alone, is cut off towards zero in every coordinate, which shortens
    it; the factor is small enough for all rounding of the norm and of the product, whatever the
    update is (Higham 2002, section 3.1, as in ``training.clipping.rounding``). So the length of
    what a client adds is at most 2³² exactly. Sums of whole numbers are exact in any order, and up
    to 2²⁰ clients stay below 2⁵³: with a client and without it, sums differ by what it adds, and by
    nothing else. The first number that is rounded has noise.

    What a client adds depends on its own first answer alone. Whoever was not asked, answers for
    another round, with other names, shapes or kinds of numbers, or with numbers that are not
    finite, adds nothing; so does every answer of a client after its first; so does a client that
    does not answer. Noise and divisor stay as they are. Nobody's weight is larger than another's.

Care
    Answers must be waited for by the clock or to the last, never until there are enough of them:
    then a slow client would let another one in. Numbers that clients report beside their weights
    have no noise, and are not taken. Whoever adds up sees every update.

Reference
    McMahan, Ramage, Talwar and Zhang 2018, "Learning differentially private recurrent language
    models" (DP-FedAvg with a fixed denominator).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.training.clipping.release import add_noise
from sfumato.training.clipping.rounding import gamma
from sfumato.training.plan import LogicalBatch

# The clipping norm in the units of the sum, and the most clients whose sum is exact then.
WHOLE = 2.0**32
MOST_CLIENTS = 2**20
# Operations beside the sum of squares that round: two quotients, a root, a factor, a product.
_BESIDE = 16


@dataclass(frozen=True, eq=False)
class Reply:
    """The weights that a client has after a round; ``step`` is the number of the round, from 0."""

    client: int
    step: int
    weights: Mapping[str, Tensor] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Averaging:
    """The mean of the updates of a round; without a ``clip_norm`` no bound, no noise, no guarantee.

    ``shapes`` has an example of each trained weight: its name, shape and kind of number.
    """

    shapes: Mapping[str, Tensor] = field(repr=False)
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        if self.clip_norm is not None:
            positive("clip_norm", self.clip_norm)

    def mean(
        self,
        batch: LogicalBatch,
        start: Mapping[str, Tensor],
        replies: Iterable[Reply],
        randomness: Randomness,
    ) -> dict[str, Tensor]:
        """The noisy mean of what the members of a batch have changed since ``start``.

        ``randomness`` must be a stream of this round, used for nothing else.
        """
        if len(batch.members) > MOST_CLIENTS:
            raise InvalidArgument(
                f"more than {MOST_CLIENTS:,} clients in a round cannot be added up exactly; ask "
                "fewer of them"
            )
        taken = self._taken(batch, start, replies)
        if self.clip_norm is None:
            return self._named(self._add(taken) / batch.size)
        total = self._add(bound(one, self.clip_norm) for one in taken)
        noisy = torch.from_numpy(total)
        add_noise([noisy], batch.noise_multiplier * WHOLE, randomness)
        return self._named(noisy.numpy() * (self.clip_norm / WHOLE) / batch.size)

    def _taken(
        self, batch: LogicalBatch, start: Mapping[str, Tensor], replies: Iterable[Reply]
    ) -> Iterator[NDArray[np.float64]]:
        """The updates that count: the first answer of each client that was asked, if it is one."""
        waiting = set(batch.members.tolist())
        for reply in replies:
            if reply.step != batch.step or reply.client not in waiting:
                continue
            waiting.remove(reply.client)
            update = self._update(start, reply.weights)
            if update is not None:
                yield update

    def _update(
        self, start: Mapping[str, Tensor], weights: Mapping[str, Tensor]
    ) -> NDArray[np.float64] | None:
        """The change in double precision, in the order of our own names; None if it is none."""
        if weights.keys() != self.shapes.keys():
            return None
        changes = []
        for name, like in self.shapes.items():
            given = weights[name]
            if given.shape != like.shape or given.dtype != like.dtype:
                return None
            changes.append((given.detach().double() - start[name].detach().double()).reshape(-1))
        update: NDArray[np.float64] = torch.cat(changes).cpu().numpy()
        return update if bool(np.isfinite(update).all()) else None

    def _add(self, parts: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
        total = np.zeros(sum(one.numel() for one in self.shapes.values()))
        for one in parts:
            total += one
        return total

    def _named(self, values: NDArray[np.float64]) -> dict[str, Tensor]:
        sizes = [one.numel() for one in self.shapes.values()]
        pieces = torch.split(torch.from_numpy(values), sizes)
        return {
            name: piece.reshape(like.shape)
            for (name, like), piece in zip(self.shapes.items(), pieces, strict=True)
        }


def bound(update: NDArray[np.float64], clip_norm: float) -> NDArray[np.float64]:
    """Whole numbers in units of C/2³², of length at most 2³²; the update must be finite.

    >>> bound(np.array([3.0, -4.0]), 1.0) // 1e6
    array([ 2576., -3436.])
    >>> bound(np.zeros(2), 1.0)
    array([0., 0.])
    """
    largest = float(np.abs(update).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(update)
    # Divided by the largest, squares neither overflow nor vanish together.
    direction = update / largest
    length = math.sqrt(float(np.square(direction).sum()))
    # Whether the update is shortened or not, its product with the factor may be rounded up.
    slack = 1 - gamma(len(update) + _BESIDE, torch.float64)
    factor = WHOLE * min(largest / clip_norm, 1 / length) * slack
    return np.trunc(direction * factor)
