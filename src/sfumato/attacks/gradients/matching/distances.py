"""How far the gradients of made-up rows are from what was released: one number to make small.

==========  ==================================================================================
``dlg``     squared differences of all weights
``tag``     the same and absolute differences, which count more in the layers near the text
``lamp``    one minus the cosine of each weight matrix, averaged over the matrices
==========  ==================================================================================

What was released is bounded, and often reduced to its direction, so both sides are brought to the
same length first; only ``lamp`` needs that for no matrix.

Care
    One cosine over all weights together is the likelihood under noise, and useless for search: it
    is decided by the few matrices with the largest gradients. A matrix of which nothing was
    released has no direction; it counts as a cosine of 0 and never as a division by zero.

Reference
    Zhu, Liu and Han 2019, "Deep leakage from gradients" (DLG); Deng et al. 2021, "TAG: Gradient
    attack on transformer-based language models"; Balunović et al. 2022, "LAMP: Extracting text from
    gradients with language model priors".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# Added to a squared length, so that nothing is divided by zero, nor its root differentiated there.
_TINY = 1e-30
# The weight of TAG's absolute differences, at the layer nearest to the text.
NEAR_THE_TEXT = 0.01

Tensors = Sequence[Tensor]
Distance = Callable[[Tensors, Tensors], Tensor]


def squared(made: Tensors, released: Tensors) -> Tensor:
    """DLG: the sum of squared differences, both at length 1."""
    products = _sum([_product(one, other) for one, other in zip(made, released, strict=True)])
    return 2 - 2 * products / (_length(made) * _length(released))


def squared_and_absolute(made: Tensors, released: Tensors) -> Tensor:
    """TAG: squared differences, and absolute ones with weights that fall from layer to layer."""
    lengths = _length(made), _length(released)
    steps = torch.linspace(NEAR_THE_TEXT, 0.0, len(made) + 1)[:-1].tolist()
    parts = [
        weight * (one / lengths[0] - other / lengths[1]).abs().sum()
        for one, other, weight in zip(made, released, steps, strict=True)
    ]
    return squared(made, released) + _sum(parts)


def mean_cosine_distance(made: Tensors, released: Tensors) -> Tensor:
    """LAMP: one minus the cosine, averaged over the weight matrices."""
    cosines = [
        _product(one, other) / (_length([one]) * _length([other]))
        for one, other in zip(made, released, strict=True)
    ]
    return 1 - _sum(cosines) / len(cosines)


DISTANCES: dict[str, Distance] = {
    "dlg": squared,
    "tag": squared_and_absolute,
    "lamp": mean_cosine_distance,
}


def _length(gradient: Tensors) -> Tensor:
    return (_sum([_product(one, one) for one in gradient]) + _TINY).sqrt()


def _product(one: Tensor, other: Tensor) -> Tensor:
    return torch.dot(one.flatten(), other.flatten())


def _sum(parts: Tensors) -> Tensor:
    return torch.stack(list(parts)).sum()
