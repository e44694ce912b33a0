"""How much one record may add to a step: flat, automatic and adaptive clipping, and its price.

Guarantee
    A record's scaled gradient has a norm of at most ``clip_norm``, C. So does the change of the
    batch's sum when a record is added or removed, and noise of z·C makes the sum a Gaussian release
    with multiplier z.

Why it holds
    Flat: min(1, C/norm)·norm <= C. Automatic: C/(norm + stability)·norm < C. What is taken for the
    norm here is a bound on what the record can add to the computed sum (``rounding``). Both make it
    a little longer (``MARGIN``), for the rounding of the scale itself, and of the running sum to
    which up to a thousand physical batches are added. A scale depends on no record but its own.

Adaptive
    The bound follows a quantile of the norms. What is learned about the norms is a release of its
    own: every record of a batch counts +½ if its norm is within the bound and −½ if not. A record
    that is left out counts 0, so one record moves the sum by ½, and the sum gets noise of standard
    deviation ``count_noise``. That is a Gaussian release with multiplier 2·count_noise
    (``count_multiplier``), about the same records as the gradient: together they are one release
    with multiplier (z⁻² + (2·count_noise)⁻²)^(−½), which is what a plan charges (``released``).

Reference
    Abadi et al. 2016, "Deep learning with differential privacy"; Bu et al. 2023, "Automatic
    clipping: differentially private deep learning made easier and stronger"; Andrew et al. 2021,
    "Differentially private learning with adaptive clipping" (theorem 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from sfumato.accounting.events import computable_noise, jointly
from sfumato.core.checks import between, one_of, positive
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:  # a plan needs the price of clipping, and no torch
    from torch import Tensor

KINDS = ("adaptive", "automatic", "fixed")
# Weights are numbers of single precision: of a longer gradient rounding leaves little, and a
# shorter bound could be missed by products so small that they underflow.
COMPUTABLE_NORM = 1e-8, 1e20
LEAST_COUNT_NOISE = 2.0
# By this share a norm is taken to be longer: a thousand roundings of a number are half of it.
MARGIN = 2.0**-13
# The bound changes by at most this much, as a logarithm, in a step.
LARGEST = 3.0


def computable(name: str, norm: float) -> float:
    """A bound that numbers of single precision can keep."""
    return between(name, positive(name, norm), *COMPUTABLE_NORM)


class Clipper(Protocol):
    """A bound, a scale for every norm, and what finding the bound costs."""

    @property
    def clip_norm(self) -> float:
        """The longest a scaled gradient can be."""

    def scales(self, norms: Tensor) -> Tensor:
        """What each record's gradient is multiplied by."""

    def released(self, noise_multiplier: float) -> float:
        """The multiplier of all that a step releases, given that of its gradient."""


@dataclass(frozen=True)
class Flat:
    """Gradients longer than ``clip_norm`` are shortened to it; others are left alone.

    >>> import torch
    >>> Flat(2.0).scales(torch.tensor([0.0, 1.0, 8.0])).round(decimals=4)
    tensor([1.0000, 1.0000, 0.2500])
    """

    clip_norm: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip_norm", computable("clip_norm", self.clip_norm))

    def scales(self, norms: Tensor) -> Tensor:
        """min(1, C/norm)."""
        return (self.clip_norm / (norms * (1 + MARGIN))).clamp(max=1.0)

    def released(self, noise_multiplier: float) -> float:
        """Nothing but the gradient is released."""
        return noise_multiplier


@dataclass(frozen=True)
class Automatic:
    """All gradients are brought near ``clip_norm``; short ones, of length ``stability``, to half.

    >>> import torch
    >>> scales = Automatic(1.0, stability=0.01).scales(torch.tensor([0.0, 0.01, 0.99]))
    >>> [round(scale, 2) for scale in scales.tolist()]
    [100.0, 50.0, 1.0]
    """

    clip_norm: float
    stability: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip_norm", computable("clip_norm", self.clip_norm))
        object.__setattr__(self, "stability", positive("stability", self.stability))

    def scales(self, norms: Tensor) -> Tensor:
        """C/(norm + stability)."""
        return self.clip_norm / (norms * (1 + MARGIN) + self.stability)

    def released(self, noise_multiplier: float) -> float:
        """Nothing but the gradient is released."""
        return noise_multiplier


@dataclass(frozen=True)
class Adaptive:
    """Flat clipping whose bound, ``initial``, moves towards a quantile of the norms.

    ``updated`` gives the clipper of the next step from the noisy count of this one.
    """

    initial: float
    quantile: float = 0.5
    learning_rate: float = 0.2
    count_noise: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial", computable("initial", self.initial))
        object.__setattr__(self, "quantile", between("quantile", self.quantile, 0.0, 1.0))
        for name in ("learning_rate", "count_noise"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    @property
    def clip_norm(self) -> float:
        """The bound of the coming step."""
        return self.initial

    @property
    def count_multiplier(self) -> float:
        """Noise multiplier of the count: its deviation over what one record moves."""
        return 2 * self.count_noise

    def released(self, noise_multiplier: float) -> float:
        """Multiplier of gradient and count together, given that of the gradient.

        >>> round(Adaptive(1.0, count_noise=2.0).released(3.0), 6)
        2.4
        """
        return jointly(noise_multiplier, self.count_multiplier)

    def scales(self, norms: Tensor) -> Tensor:
        """min(1, C/norm)."""
        return Flat(self.initial).scales(norms)

    def count(self, norms: Tensor) -> float:
        """+½ for every norm within the bound, −½ for every other; private until it has noise."""
        return float((norms <= self.initial).sum()) - len(norms) / 2

    def updated(self, noisy_count: float, expected_batch_size: float) -> Adaptive:
        """The clipper for the next step: a longer bound if too few norms were within this one."""
        share = noisy_count / expected_batch_size + 0.5
        # One wild count must not send the bound where there are no numbers.
        change = min(max(-self.learning_rate * (share - self.quantile), -LARGEST), LARGEST)
        low, high = COMPUTABLE_NORM
        return replace(self, initial=min(max(self.initial * math.exp(change), low), high))


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """What a plan says of clipping: its kind, and ``norm``, the C of the first step.

    ``fixed`` is ``Flat``. ``quantile`` and ``count_noise`` are for ``adaptive`` clipping.

    >>> round(Clipping(kind="adaptive", count_noise=2.0).released(3.0), 9)
    2.4
    """

    kind: str = "fixed"
    norm: float = 1.0
    quantile: float = 0.5
    count_noise: float | None = None

    def __post_init__(self) -> None:
        one_of("clipping", self.kind, KINDS)
        computable("clip_norm", self.norm)
        between("quantile", self.quantile, 0.0, 1.0)
        if (self.count_noise is None) == (self.kind == "adaptive"):
            raise InvalidArgument(
                "adaptive clipping needs count_noise, the standard deviation of the noise on the "
                "number of short contributions (a twentieth of the batch size is usual); no other "
                "clipping has one"
            )
        if self.count_noise is not None:
            computable_noise("count_noise", positive("count_noise", self.count_noise))

    def clipper(self) -> Clipper:
        """What it does to the gradients of the first step."""
        if self.kind == "automatic":
            return Automatic(self.norm)
        if self.count_noise is not None:
            return Adaptive(self.norm, self.quantile, count_noise=self.count_noise)
        return Flat(self.norm)

    def released(self, noise_multiplier: float) -> float:
        """The multiplier of all that a step releases, given that of its gradient."""
        return self.clipper().released(noise_multiplier)


def choose_clipping(kind: str, norm: float, batch_sizes: tuple[int, ...]) -> Clipping:
    """Clipping of a kind, with the noise that its count needs if it follows the median."""
    # A twentieth of the batch is what Andrew et al. use for the count; of a small batch that would
    # be so little noise that the count costs more than the gradient.
    noise = max(min(batch_sizes) / 20, LEAST_COUNT_NOISE) if kind == "adaptive" else None
    return Clipping(kind=kind, norm=norm, count_noise=noise)
