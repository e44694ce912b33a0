"""The ordinary step, for comparison: no clipping, no noise, no promise.

It has the face of ``PrivateStep``, so that the loop is the same with and without privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor
from torch.optim import Optimizer

from sfumato.training.clipping.row_checks import LossesOf


class PlainStep:
    """Sums of gradients as they are, divided by the batch size that was planned."""

    clip_norm = float("inf")

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        optimizer.zero_grad()

    def backward(self, losses: Tensor, owner: Tensor | None = None) -> None:  # noqa: ARG002
        """Add the gradients of the rows to the sum; whose they are does not matter."""
        losses.sum().backward()  # type: ignore[no-untyped-call]

    def check_rows(self, losses_of: LossesOf, rows: int) -> None:
        """Nothing is promised about rows, so nothing is checked."""

    @contextmanager
    def one_record(self) -> Iterator[None]:
        """A record of several batches is nothing special here."""
        yield

    def step(self, *, noise_multiplier: float, expected_batch_size: float) -> None:  # noqa: ARG002
        """Divide and update."""
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.div_(expected_batch_size)
        self.optimizer.step()
        self.optimizer.zero_grad()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Nothing is recorded, so nothing has to be paused; what was summed up is kept."""
        yield

    def close(self) -> None:
        """Nothing was changed."""
