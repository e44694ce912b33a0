"""What clipping must agree with: a loop over records by plain autograd."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sfumato.training.clipping import clippers, rounding
from sfumato.training.clipping.layers.rules import (
    Losses,
    compare_with_loop,
    gradients_of_records,
    norm,
)

__all__ = ["TOLERANCE", "clip_scale", "gradients_of_records", "norm", "worst_difference"]

TOLERANCE = 1e-5


def clip_scale(bound: float, length: float) -> float:
    """What a record of ordinary numbers is scaled by: its norm is taken to be a little longer."""
    doubt, drift = rounding.shares(torch.float32)
    longer = length * math.sqrt(1 + doubt) * (1 + drift) * (1 + clippers.MARGIN)
    return min(1.0, bound / longer)


def worst_difference(
    model: nn.Module, losses: Losses, rows: int, owner: Tensor | None = None
) -> tuple[float, ...]:
    """Of norms, sums, inner products, gradients and their Gram matrix, as shares of the longest."""
    found = compare_with_loop(model, losses, rows, owner)
    return found.norms, found.sums, found.inner_products, found.gradients, found.gram
