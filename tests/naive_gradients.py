"""Gradients of one record at a time by plain autograd: what clipping must agree with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from sfumato.training.clipping.recording import Recording

# The losses of the rows named by a tensor of row numbers.
Losses = Callable[[Tensor], Tensor]

TOLERANCE = 1e-5


def gradients_of_records(
    model: nn.Module, losses: Losses, owner: Tensor
) -> list[dict[str, Tensor]]:
    """The gradient of each record, in the order of the owners, from rows that go through alone."""
    trainable = {name: one for name, one in model.named_parameters() if one.requires_grad}
    totals: list[dict[str, Tensor]] = []
    for record in owner.unique():
        total = {name: torch.zeros_like(one) for name, one in trainable.items()}
        for row in (owner == record).nonzero():
            found = torch.autograd.grad(
                losses(row).sum(), list(trainable.values()), allow_unused=True
            )
            for name, gradient in zip(trainable, found, strict=True):
                if gradient is not None:
                    total[name] = total[name] + gradient
        totals.append(total)
    return totals


def norm(gradient: Mapping[str, Tensor]) -> float:
    """Length of a gradient over all parameters, in double precision."""
    return float(
        torch.stack([one.double().square().sum() for one in gradient.values()]).sum() ** 0.5
    )


def worst_difference(
    model: nn.Module, losses: Losses, rows: int, owner: Tensor | None = None
) -> tuple[float, float]:
    """Relative error of book-keeping against the loop: of any norm, and of the clipped sum.

    The bound is chosen so that some records are clipped and some are not. Errors in the sum are
    relative to the longest record: a parameter whose gradient is zero but for rounding has no
    relative error of its own.
    """
    everything = torch.arange(rows)
    naive = gradients_of_records(model, losses, everything if owner is None else owner)
    lengths = torch.tensor([norm(one) for one in naive], dtype=torch.float64)
    bound = float(lengths.median())
    scales = (bound / lengths).clamp(max=1.0)
    recording = Recording(model)
    try:
        records = recording.backward(losses(everything), owner)
        norms = recording.norms(records)
        sums = dict(recording.weighted_sums(records.per_row(scales)))
    finally:
        recording.close()
    assert set(sums) == set(naive[0])
    error = {
        name: sums[name].double()
        - sum(float(c) * one[name].double() for c, one in zip(scales, naive, strict=True))
        for name in sums
    }
    scale = float(lengths.max())
    return float(((norms - lengths).abs() / lengths).max()), norm(error) / scale
