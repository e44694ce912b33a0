"""How much one record may add to a step: flat, automatic and adaptive clipping, and its cost.

Guarantee
    A record's scaled gradient has a norm of at most ``clip_norm``, C. So adding or removing a
    record changes the batch's sum by at most C, and noise of z·C makes the sum a Gaussian release
    with multiplier z.

Why it holds
    Flat: min(1, C/norm)·norm <= C. Automatic: C/(norm + stability)·norm < C. Here, norm means a
    bound on what the record can add to the computed sum (``rounding``). Both kinds enlarge it a
    little (``MARGIN``), for the rounding of the scale itself, and of the running sum over up to a
    thousand physical batches. A record's scale depends on that record alone.

Adaptive
    The bound follows a quantile of the norms. Estimating the quantile is a further release: every
    record of a batch counts +½ if its norm is within the bound and −½ if not. A missing record
    counts 0, so one record moves the count by ½, and the count gets noise of standard deviation
    ``count_noise``. That is a Gaussian release with multiplier 2·count_noise
    (``count_multiplier``), on the same records as the gradient. Together they are one release with
    multiplier (z⁻² + (2·count_noise)⁻²)^(−½), which is what a plan charges (``released``).

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

if TYPE_CHECKING:  # a plan needs the cost of clipping, but not torch
    from torch import Tensor

KINDS = ("adaptive", "automatic", "fixed")
# In single precision, rounding would destroy longer gradients, and for shorter bounds small
# products would underflow.
COMPUTABLE_NORM = 1e-8, 1e20
LEAST_COUNT_NOISE = 2.0
# Norms are enlarged by this share, which is twice the error of a thousand roundings.
MARGIN = 2.0**-13
# The largest change of the logarithm of the bound in a step.
LARGEST = 3.0


def computable(name: str, norm: float) -> float:
    """A clipping norm for which single precision is enough."""
    return between(name, positive(name, norm), *COMPUTABLE_NORM)


class Clipper(Protocol):
    """A bound, a scale for every norm, and the cost of adapting the bound."""

    @property
    def clip_norm(self) -> float:
        """The largest norm of a scaled gradient."""

    def scales(self, norms: Tensor) -> Tensor:
        """The factor of each record's gradient."""

    def released(self, noise_multiplier: float) -> float:
        """The multiplier of all that a step releases, given that of its gradient."""


@dataclass(frozen=True)
class Flat:
    """Gradients longer than ``clip_norm`` are scaled down to it; others are not changed.

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
    """All gradients are scaled to nearly ``clip_norm``; those of length ``stability`` to half.

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
        """The bound of the next step."""
        return self.initial

    @property
    def count_multiplier(self) -> float:
        """Noise multiplier of the count: its standard deviation over its sensitivity."""
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
        """The next clipper; its bound is larger if too few norms were within this one."""
        share = noisy_count / expected_batch_size + 0.5
        # A single extreme count must not make the bound overflow or underflow.
        change = min(max(-self.learning_rate * (share - self.quantile), -LARGEST), LARGEST)
        low, high = COMPUTABLE_NORM
        return replace(self, initial=min(max(self.initial * math.exp(change), low), high))


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """The clipping of a plan: its kind, and ``norm``, the C of the first step.

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
        """The clipper of the first step."""
        if self.kind == "automatic":
            return Automatic(self.norm)
        if self.count_noise is not None:
            return Adaptive(self.norm, self.quantile, count_noise=self.count_noise)
        return Flat(self.norm)

    def released(self, noise_multiplier: float) -> float:
        """The multiplier of all that a step releases, given that of its gradient."""
        return self.clipper().released(noise_multiplier)


def choose_clipping(kind: str, norm: float, batch_sizes: tuple[int, ...]) -> Clipping:
    """Clipping of a kind; adaptive clipping follows the median, with noise on its count."""
    # Andrew et al. use a twentieth of the batch size. For a small batch that is so little noise
    # that the count would cost more than the gradient.
    noise = max(min(batch_sizes) / 20, LEAST_COUNT_NOISE) if kind == "adaptive" else None
    return Clipping(kind=kind, norm=norm, count_noise=noise)
