"""Steps of matrices that are seen through carriers: what a step releases becomes their update.

Guarantee
    None of its own: it sees the noisy gradients of the carriers, and weights that were released, so
    all that is done here is post-processing.

Why it holds
    ``PrivateStep`` puts noisy gradients at the carriers and calls ``step``. From there on, the
    gradient of a matrix is rebuilt of these two, the optimizer updates the matrix with it, and the
    carriers of the next step follow from the matrix (``models.carriers``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.optim import Optimizer

from sfumato.models.carriers import Carried, Carriers


class CarriedWeights:
    """The trained weights of a network, some of them through carriers."""

    def __init__(self, network: nn.Module, carried: Carried) -> None:
        self.pairs = tuple(carried.pairs())
        self.trained = tuple(one for one in network.parameters() if one.requires_grad)

    def weights(self) -> Iterator[nn.Parameter]:
        """What the optimizer updates: matrices in the place of their carriers, and all others."""
        thin = {one for _, carriers in self.pairs for one in carriers.parameters()}
        yield from (weight for weight, _ in self.pairs)
        yield from (one for one in self.trained if one not in thin)

    def through(self, optimizer: Optimizer) -> Optimizer:
        """For a step: takes gradients of carriers, lets the optimizer update the matrices."""
        return CarriedOptimizer(optimizer, self)


class CarriedOptimizer(Optimizer):
    """An optimizer of ``weights``, which has the parameters of the step in its groups."""

    def __init__(self, optimizer: Optimizer, carried: CarriedWeights) -> None:
        super().__init__(carried.trained, {})
        self.optimizer, self.pairs = optimizer, carried.pairs

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Rebuild the gradients of matrices, update everything, and renew the carriers."""
        if closure is not None:
            raise TypeError("a private gradient is computed once; there is no closure to call")
        for weight, carriers in self.pairs:
            weight.grad = _rebuilt(carriers)
        self.optimizer.step()
        for weight, carriers in self.pairs:
            weight.grad = None
            carriers.refresh(weight)


def _rebuilt(carriers: Carriers) -> torch.Tensor | None:
    left, right = carriers.left.weight, carriers.right.weight
    if left.grad is None or right.grad is None:  # without noise, an empty batch has no gradient
        return None
    return carriers.rebuild(left.grad, right.grad)
