"""What is written down about one parameter during one backward pass.

A slot gathers what the layers that use a parameter saw, and turns it into two things: the squared
norm of each record's gradient, and, once the scales are known, the scaled sum of the gradients.
A parameter has one slot however many layers share it, because a record's gradient is the sum over
all uses: norms of the uses taken one by one would miss what they have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from sfumato.training.clipping.records import Records


class Slot(ABC):
    """The gradients of one parameter, by row, in whatever form is cheapest."""

    def __init__(self, parameter: Tensor) -> None:
        self.parameter = parameter
        # Whether every row is a record of its own; if so, a gradient formed early can be kept.
        self.each_row = True

    @abstractmethod
    def collect(self, *seen: Tensor) -> None:
        """Add what one use of the parameter saw."""

    @property
    @abstractmethod
    def used(self) -> bool:
        """Whether any layer wrote something down."""

    @abstractmethod
    def squared_norms(self, records: Records) -> Tensor:
        """Squared norm of each record's gradient."""

    @abstractmethod
    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Sum of the rows' gradients, each times its weight, in the shape of the parameter."""

    @abstractmethod
    def extents(self) -> Tensor:
        """Of each row a number: zero only if its gradient is, NaN if that is undefined."""

    @abstractmethod
    def clear(self) -> None:
        """Forget the batch."""


class VectorSlot(Slot):
    """Biases and the weights of normalization: small enough to have a gradient per row."""

    def __init__(self, parameter: Tensor) -> None:
        super().__init__(parameter)
        self._rows: Tensor | None = None

    def collect(self, *seen: Tensor) -> None:
        """Add the gradients of one use, a row each."""
        (gradients,) = seen
        self._rows = gradients if self._rows is None else self._rows + gradients

    @property
    def used(self) -> bool:
        """Whether any layer wrote something down."""
        return self._rows is not None

    def squared_norms(self, records: Records) -> Tensor:
        """Squared norm of each record's gradient."""
        return squares(records.sum(self._gradients()))

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Sum of the rows' gradients, each times its weight."""
        gradients = self._gradients()
        return (weights @ gradients.flatten(1)).view(gradients.shape[1:])

    def extents(self) -> Tensor:
        """Of each row a number: zero only if its gradient is, NaN if that is undefined."""
        return self._gradients().flatten(1).abs().amax(1)

    def clear(self) -> None:
        """Forget the batch."""
        self._rows = None

    def _gradients(self) -> Tensor:
        assert self._rows is not None, "asked for a gradient that nobody wrote down"  # noqa: S101
        return self._rows


def squares(rows: Tensor) -> Tensor:
    """Sum of squares of each row.

    Summed along the last axis first: one long sum in single precision loses a thousandth.
    """
    shortened: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    shortened = shortened.square()
    return shortened.flatten(1).sum(1) if shortened.dim() > 1 else shortened
