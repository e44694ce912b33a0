"""Which rows of a physical batch belong to one record.

The record is the unit of privacy: all that one example, or one author, brings to a batch is summed
before its norm is taken. Clipping the rows of an author one by one would bound each row and leave
the author k times the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.core.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class Records:
    """``of_row[i]`` is the record of row i; None when every row is a record of its own."""

    count: int
    of_row: Tensor | None = None

    @classmethod
    def of(cls, owner: Tensor | None, rows: int) -> Records:
        """From the owner of each row: any whole numbers; records are in the order of these."""
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
        """Whether every row is a record of its own."""
        return self.of_row is None

    def sum(self, rows: Tensor) -> Tensor:
        """Add up what belongs to one record."""
        if self.of_row is None:
            return rows
        total = rows.new_zeros(self.count, *rows.shape[1:])
        return total.index_add_(0, self.of_row, rows)

    def per_row(self, values: Tensor) -> Tensor:
        """Give every row the value of its record."""
        return values if self.of_row is None else values[self.of_row]

    def indices(self, like: Tensor) -> Tensor:
        """The record of each row, as numbers, where another tensor is."""
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
