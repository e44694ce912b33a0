"""What is written down about one parameter during one backward pass.

A slot gathers what the layers that use a parameter saw, and turns it into two things: the norm of
each record's gradient, with what rounding may have done to it (``rounding``), and, once the scales
are known, the scaled sum of the gradients. It can also tell each record's inner product with a
direction, and form the gradients themselves, which takes the memory of as many parameters as there
are records.
A parameter has one slot however many layers share it, because a record's gradient is the sum over
all uses: norms of the uses taken one by one would miss what they have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from sfumato.training.clipping.records import Records
from sfumato.training.clipping.rounding import MeasuredNorms, bound_formed, weigh


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
    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient."""

    def measure_closely(self, records: Records, which: Tensor) -> MeasuredNorms:
        """The same of some records, with less doubt, at whatever cost."""
        return self.measure(records).of(which)

    @abstractmethod
    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight, in the shape of the parameter."""

    @abstractmethod
    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """Of each record's gradient with a direction, in double precision."""

    @abstractmethod
    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record, formed: (records, …), then the shape of the parameter."""

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
        self._records: Tensor | None = None

    def collect(self, *seen: Tensor) -> None:
        """Add the gradients of one use, a row each."""
        (gradients,) = seen
        self._rows = gradients if self._rows is None else self._rows + gradients

    @property
    def used(self) -> bool:
        """Whether any layer wrote something down."""
        return self._rows is not None

    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient."""
        return bound_formed(self._of_records(records))

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight."""
        gradients = self._of_records(records)
        return weigh(weights, gradients.flatten(1)).view(gradients.shape[1:])

    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """Of each record's gradient with a direction, in double precision."""
        return self._of_records(records).flatten(1).double() @ direction.flatten().double()

    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record."""
        return self._of_records(records)

    def extents(self) -> Tensor:
        """Of each row a number: zero only if its gradient is, NaN if that is undefined."""
        return self._gradients().flatten(1).abs().amax(1)

    def clear(self) -> None:
        """Forget the batch."""
        self._rows = self._records = None

    def _of_records(self, records: Records) -> Tensor:
        """A gradient for each record: what is measured is what is added to the sum."""
        if self._records is None:
            self._records = records.sum(self._gradients())
        return self._records

    def _gradients(self) -> Tensor:
        assert self._rows is not None, "asked for a gradient that nobody wrote down"  # noqa: S101
        return self._rows
