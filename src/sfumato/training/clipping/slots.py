"""What is recorded for one parameter in one backward pass, and which rows form a record.

A slot collects what the layers that use a parameter saw. From this it computes the norm of each
record's gradient, with a bound on its rounding error (``rounding``), and, once the scales are
known, the scaled sum of the gradients. It can also compute each record's inner product with a
direction, and the gradients themselves, which takes the memory of as many copies of the parameter
as there are records.

A parameter has one slot however many layers share it, because a record's gradient is the sum over
all uses: separate norms of the uses would ignore their inner products. The record is the unit of
privacy: all rows of one example, or of one author, are summed before the norm is taken. If an
author's k rows were clipped separately, each row would be bounded, but the author could contribute
k times the bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sfumato.core.errors import InvalidArgument
from sfumato.training.clipping.rounding import MeasuredNorms, bound_formed, weigh

# The largest number of numbers that are formed at a time to compute inner products of records, and
# of those that are turned to double precision: few enough to stay in a processor's cache.
PIECE, CACHED = 1 << 21, 1 << 18


@dataclass(frozen=True, eq=False)
class Records:
    """``of_row[i]`` is the record of row i; None when every row is a record of its own."""

    count: int
    of_row: Tensor | None = None

    @classmethod
    def of(cls, owner: Tensor | None, rows: int) -> Records:
        """From the owner of each row, any whole numbers; records are in the order of owners."""
        if owner is None:
            return cls(rows)
        if (
            not isinstance(owner, Tensor)
            or owner.shape != (rows,)
            or owner.is_floating_point()
            or owner.is_complex()
        ):
            raise InvalidArgument("owner must be a tensor of one whole number for each row")
        if bool((owner[1:] > owner[:-1]).all()):
            return cls(rows)
        names, of_row = torch.unique(owner, return_inverse=True)
        return cls(len(names), of_row)

    @property
    def each_row(self) -> bool:
        """Whether every row is a separate record."""
        return self.of_row is None

    def single_rows(self) -> Tensor | None:
        """The row of each record, if every record has just one; None otherwise."""
        if self.of_row is None or len(self.of_row) != self.count:
            return None
        return self.of_row.argsort()

    def sum(self, rows: Tensor) -> Tensor:
        """Add up what belongs to one record."""
        if self.of_row is None:
            return rows
        total = rows.new_zeros(self.count, *rows.shape[1:])
        return total.index_add_(0, self.of_row, rows)

    def per_row(self, values: Tensor) -> Tensor:
        """The value of its record for every row."""
        return values if self.of_row is None else values[self.of_row]

    def indices(self, like: Tensor) -> Tensor:
        """The record number of each row, on the device of another tensor."""
        if self.of_row is None:
            return torch.arange(self.count, device=like.device)
        return self.of_row.to(like.device)

    def groups(self, which: Tensor | None = None) -> Iterator[Tensor]:
        """The rows of each record in turn, or of some records."""
        chosen = range(self.count) if which is None else which.tolist()
        if self.of_row is None:
            yield from (torch.tensor([record]) for record in chosen)
        else:
            sizes = torch.bincount(self.of_row, minlength=self.count)
            groups = torch.split(self.of_row.argsort(stable=True), sizes.tolist())
            yield from (groups[record] for record in chosen)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some lines of the records' gradients, (records, numbers), and which lines they are."""

    gradients: Tensor
    lines: slice | Tensor


@dataclass(frozen=True, eq=False)
class Products:
    """Inner products of gradients with each other and with a direction, in double precision."""

    among: Tensor
    along: Tensor


class Slot(ABC):
    """The gradients of one parameter, by row, in whatever form is cheapest."""

    def __init__(self, parameter: Tensor) -> None:
        self.parameter = parameter
        # Whether every row is a separate record; if so, a gradient that was formed early can be
        # kept.
        self.each_row = True

    @abstractmethod
    def collect(self, *seen: Tensor) -> None:
        """Add what one use of the parameter saw."""

    @property
    @abstractmethod
    def used(self) -> bool:
        """Whether any layer recorded something."""

    @abstractmethod
    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient."""

    def measure_closely(self, records: Records, which: Tensor) -> MeasuredNorms:
        """The same for some records, with less doubt, at whatever cost."""
        return self.measure(records).of(which)

    @abstractmethod
    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight, in the shape of the parameter."""

    @abstractmethod
    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """The inner products of the records' gradients with a direction, in double precision."""

    @abstractmethod
    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record, formed: (records, …), then the shape of the parameter."""

    @abstractmethod
    def pieces(self, records: Records) -> Iterator[Piece]:
        """The same in pieces of bounded size, leaving out lines that are zero for all records."""

    def products(self, records: Records, direction: Tensor | None = None) -> Products:
        """The inner products of the records' gradients with each other, and with a direction."""
        count = records.count
        among = self.parameter.new_zeros(count, count, dtype=torch.float64)
        along = among.new_zeros(count)
        with _one_thread():
            for piece in self.pieces(records):
                given = None if direction is None else direction[piece.lines].flatten()
                width = max(1, CACHED // max(1, count))
                for start in range(0, piece.gradients.shape[1], width):
                    numbers = piece.gradients[:, start : start + width].double()
                    add_squares(among, numbers)
                    if given is not None:
                        along += numbers @ given[start : start + width].double()
        return Products(among, along)

    @abstractmethod
    def extents(self) -> Tensor:
        """A number for each row: zero only if its gradient is zero, NaN if it is undefined."""

    @abstractmethod
    def clear(self) -> None:
        """Discard the batch."""


def add_squares(total: Tensor, numbers: Tensor) -> None:
    """Add the inner products of all pairs of rows, in place."""
    if total.device.type == "cpu":
        rows = numbers.numpy()
        # numpy knows this product to be symmetric and computes half of it; torch computes all.
        total += torch.from_numpy(rows @ rows.T)
    else:
        total.addmm_(numbers, numbers.t())


def _one_thread() -> AbstractContextManager[object]:
    """Numpy's products are small here: threads would wait for each other longer than they work."""
    found: AbstractContextManager[object] = _numpys_threads().limit(limits=1)
    return found


@cache
def _numpys_threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(internal_api="openblas")


def piece_width(rows: int, each: int) -> int:
    """How many columns of ``each`` numbers a piece may have for so many rows."""
    return max(1, PIECE // max(1, rows * each))


class VectorSlot(Slot):
    """Biases and the weights of normalization: small enough to have a gradient per row."""

    def __init__(self, parameter: Tensor) -> None:
        super().__init__(parameter)
        self._rows: Tensor | None = None
        self._records: Tensor | None = None

    def collect(self, *seen: Tensor) -> None:
        """Add the gradients of one use, a row each."""
        gradients = seen[0].to(self.parameter.dtype)
        self._rows = gradients if self._rows is None else self._rows + gradients

    @property
    def used(self) -> bool:
        """Whether any layer recorded something."""
        return self._rows is not None

    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient."""
        return bound_formed(self._of_records(records))

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight."""
        gradients = self._of_records(records)
        return weigh(weights, gradients.flatten(1)).view(gradients.shape[1:])

    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """The inner products of the records' gradients with a direction, in double precision."""
        return self._of_records(records).flatten(1).double() @ direction.flatten().double()

    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record."""
        return self._of_records(records)

    def pieces(self, records: Records) -> Iterator[Piece]:
        """All of it: the parameter is small."""
        yield Piece(self._of_records(records).flatten(1), slice(None))

    def extents(self) -> Tensor:
        """A number for each row: zero only if its gradient is zero, NaN if it is undefined."""
        return self._gradients().flatten(1).abs().amax(1)

    def clear(self) -> None:
        """Discard the batch."""
        self._rows = self._records = None

    def _of_records(self, records: Records) -> Tensor:
        """The gradient of each record; the same values are measured and added to the sum."""
        if self._records is None:
            self._records = records.sum(self._gradients())
        return self._records

    def _gradients(self) -> Tensor:
        assert self._rows is not None, "asked for a gradient that was not recorded"  # noqa: S101
        return self._rows
