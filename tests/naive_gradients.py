"""Gradients of one record at a time by plain autograd: what clipping must agree with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy

import torch
from torch import Tensor, nn

from sfumato.training.clipping import clippers, rounding
from sfumato.training.clipping.recording import Recording

# The losses of some rows, named by a tensor of row numbers, under a model.
Losses = Callable[[nn.Module, Tensor], Tensor]

TOLERANCE = 1e-5


def gradients_of_records(
    model: nn.Module, losses: Losses, owner: Tensor
) -> list[dict[str, Tensor]]:
    """The gradient of each record, in the order of the owners, from rows that go through alone.

    In double precision, on a copy of the model: the loop itself must not be what is inexact.
    """
    model = deepcopy(model).double()
    trainable = {name: one for name, one in model.named_parameters() if one.requires_grad}
    totals: list[dict[str, Tensor]] = []
    for record in torch.unique(owner):
        total = {name: torch.zeros_like(one) for name, one in trainable.items()}
        for row in (owner == record).nonzero()[:, 0]:
            loss = losses(model, row[None]).sum()
            found = torch.autograd.grad(loss, list(trainable.values()), allow_unused=True)
            for name, gradient in zip(trainable, found, strict=True):
                if gradient is not None:
                    total[name] = total[name] + gradient
        totals.append(total)
    return totals


def norm(gradient: Mapping[str, Tensor]) -> float:
    """Length of a gradient over all parameters, in double precision."""
    squares = torch.stack([one.double().square().sum() for one in gradient.values()])
    return float(squares.sum().sqrt())


def clip_scale(bound: float, length: float) -> float:
    """What a record of ordinary numbers is scaled by: its norm is taken to be a little longer."""
    doubt, drift = rounding.shares(torch.float32)
    longer = length * math.sqrt(1 + doubt) * (1 + drift) * (1 + clippers.MARGIN)
    return min(1.0, bound / longer)


def worst_difference(
    model: nn.Module, losses: Losses, rows: int, owner: Tensor | None = None
) -> tuple[float, float]:
    """Relative error of book-keeping against the loop: of any norm, and of the clipped sum.

    The bound is chosen so that some records are clipped and some are not. The error of the sum is
    relative to the longest record.
    """
    everything = torch.arange(rows)
    naive = gradients_of_records(model, losses, everything if owner is None else owner)
    lengths = torch.tensor([norm(one) for one in naive], dtype=torch.float64)
    nonzero = lengths.clamp(min=1e-30)  # a record may have no gradient at all
    scales = (lengths.median() / nonzero).clamp(max=1.0)
    recording = Recording(model)
    try:
        records = recording.backward(losses(model, everything), owner)
        norms = recording.measure(records).norms()
        sums = dict(recording.weighted_sums(scales, records))
    finally:
        recording.close()
    assert set(sums) == set(naive[0])
    clipped = [
        {name: float(scale) * one[name] for name in one}
        for scale, one in zip(scales, naive, strict=True)
    ]
    error = {name: sums[name] - torch.stack([one[name] for one in clipped]).sum(0) for name in sums}
    of_norms = float(((norms - lengths).abs() / nonzero).max())
    return of_norms, norm(error) / float(nonzero.max())
