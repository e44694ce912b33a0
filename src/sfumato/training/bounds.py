"""How much one unit may contribute to a step, and what finding that out costs.

Guarantee
    A unit's contribution to the sum of a step has a norm of at most the clipping norm C, so noise
    of z·C is a Gaussian release with multiplier z. ``fixed`` shortens longer contributions to C;
    ``automatic`` brings all of them near C (Bu et al. 2023) and never above; ``adaptive`` lets C
    follow a quantile of the norms.

Why it holds
    What ``adaptive`` learns about the norms is a release of its own, charged here: in each step
    every unit of the batch counts +½ if its norm is at most C and −½ if not, and the sum gets
    noise of standard deviation ``count_noise``. A unit that is left out counts 0, so the sum moves
    by ½ and the multiplier is 2·count_noise. Both sums are over the same batch: together they are
    one Gaussian release with the multiplier (z⁻² + (2·count_noise)⁻²)^(−½).

Reference
    Andrew et al. 2021, "Differentially private learning with adaptive clipping", theorem 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.accounting.events import computable_noise, jointly
from sfumato.core.checks import between, one_of, positive
from sfumato.core.errors import InvalidArgument

KINDS = ("adaptive", "automatic", "fixed")

# Weights are numbers of single precision: of a longer gradient rounding leaves little, and a
# shorter bound could be missed by products so small that they underflow.
COMPUTABLE_NORM = 1e-8, 1e20


LEAST_COUNT_NOISE = 2.0


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """``norm`` is C, for ``adaptive`` the C to begin with; the other settings are its own.

    >>> round(Clipping(kind="adaptive", count_noise=2.0).released(3.0), 9)
    2.4
    """

    kind: str = "fixed"
    norm: float = 1.0
    quantile: float = 0.5
    count_noise: float | None = None

    def __post_init__(self) -> None:
        one_of("clipping", self.kind, KINDS)
        between("clip_norm", positive("clip_norm", self.norm), *COMPUTABLE_NORM)
        between("quantile", self.quantile, 0.0, 1.0)
        if (self.count_noise is None) == (self.kind == "adaptive"):
            raise InvalidArgument(
                "adaptive clipping needs count_noise, the standard deviation of the noise on the "
                "number of short contributions (a twentieth of the batch size is usual); no other "
                "clipping has one"
            )
        if self.count_noise is not None:
            computable_noise("count_noise", positive("count_noise", self.count_noise))

    def released(self, noise_multiplier: float) -> float:
        """The multiplier of all that a step releases, given that of its gradient."""
        if self.count_noise is None:
            return noise_multiplier
        return jointly(noise_multiplier, 2 * self.count_noise)


def choose_clipping(kind: str, norm: float, batch_sizes: tuple[int, ...]) -> Clipping:
    """Clipping of a kind, with the noise that its count needs if it follows the median."""
    # A twentieth of the batch is what Andrew et al. use for the count; of a small batch that would
    # be so little noise that the count costs more than the gradient.
    noise = max(min(batch_sizes) / 20, LEAST_COUNT_NOISE) if kind == "adaptive" else None
    return Clipping(kind=kind, norm=norm, count_noise=noise)
