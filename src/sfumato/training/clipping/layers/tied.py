"""Input and output embedding tied together: one table that is looked up and multiplied by.

Why the norm is right
    A record's gradient is E + H, with E from the look-ups and H from the product at the output, so
    ‖E+H‖² = ‖E‖² + ‖H‖² + 2⟨E, H⟩. With token u_t and gradient e_t at place t of the input, and
    input a_s and gradient g_s at place s of the output layer,

        ⟨E, H⟩ = Σ_{t,s} ⟨e_t, a_s⟩ · g_s[u_t],

    because E has the line e_t at u_t and H has the line Σ_s g_s[u]·a_s at u. Where the gradients
    are formed (``linear.keep_gradient``), E is added to H before anything is squared.

Why rounding does not spoil it
    E and H can cancel almost entirely, and then the sum of the three terms is only rounding error.
    With A = Σ_t |e_t| + Σ_s |g_s|·|a_s|, each of the three is off by at most a share γ of its part
    of A², where γ counts the additions of ``rounding``: together by γ·A². If this is too large a
    share of a record's square, the record is measured again from the formed E + H.

Care
    Leaving the cross term out is the classic mistake: when a text repeats a word that the model
    also predicts, E and H point the same way, and the "clipped" gradient exceeds the bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from sfumato.training.clipping.layers.embedding import TableSlot
from sfumato.training.clipping.layers.linear import MatrixSlot, as_one
from sfumato.training.clipping.rounding import (
    MeasuredNorms,
    add_up,
    bound_approximated,
    gamma,
    lengths,
    one_after_another,
)
from sfumato.training.clipping.slots import Piece, Records, Slot


class TiedSlot(Slot):
    """A table that is both looked up and multiplied by."""

    def __init__(self, parameter: Tensor) -> None:
        self.matrix = MatrixSlot(parameter)
        self.table = TableSlot(parameter)
        super().__init__(parameter)

    @property
    def each_row(self) -> bool:
        """Whether every row is a separate record."""
        return self.matrix.each_row

    @each_row.setter
    def each_row(self, value: bool) -> None:
        self.matrix.each_row = self.table.each_row = value

    def collect(self, *seen: Tensor) -> None:
        """Add one use: a look-up if its first tensor has token numbers, otherwise a product."""
        (self.matrix if seen[0].is_floating_point() else self.table).collect(*seen)

    @property
    def used(self) -> bool:
        """Whether any layer recorded something."""
        return self.matrix.used or self.table.used

    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient, the cross term included."""
        if not self.table.used or not self.matrix.used:
            return (self.matrix if self.matrix.used else self.table).measure(records)
        if self.matrix.kept is not None:
            self._add_look_ups(self.matrix.kept)
            return self.matrix.measure(records)
        matrix, table = self.matrix.measure(records), self.table.measure(records)
        square = matrix.square + table.square + 2 * self._cross_terms(records)
        looked_up = self._looked_up(records)
        doubt = matrix.doubt + table.doubt + self._doubt(matrix.size, looked_up, records)
        size = matrix.size + looked_up
        return MeasuredNorms(square.clamp_(min=0.0), doubt, size, matrix.dtype)

    def measure_closely(self, records: Records, which: Tensor) -> MeasuredNorms:
        """The same for some records, from their formed gradients."""
        if not self.table.used or not self.matrix.used:
            only = self.matrix if self.matrix.used else self.table
            return only.measure_closely(records, which)
        sizes = records.sum(self.matrix.places().size()) + self._looked_up(records)
        groups = records.groups(which)
        return one_after_another(map(self._closely, groups, sizes[which, None]))

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight."""
        used = (slot for slot in (self.matrix, self.table) if slot.used)
        return add_up(slot.weighted_sum(weights, records) for slot in used)

    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """⟨E + H, D⟩ of each record, in double precision."""
        used = (slot for slot in (self.matrix, self.table) if slot.used)
        return add_up(slot.inner_products(direction, records) for slot in used)

    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record, E + H."""
        every = [slot.gradients(records) for slot in (self.matrix, self.table) if slot.used]
        return every[0] if len(every) == 1 else every[0] + every[1]

    def pieces(self, records: Records) -> Iterator[Piece]:
        """Some lines of E + H at a time: their inner products have all cross terms."""
        if not self.table.used or not self.matrix.used:
            yield from (self.matrix if self.matrix.used else self.table).pieces(records)
            return
        looked_up = self.table.of_records(records)
        for first, lines in self.matrix.lines(records):
            some = (looked_up.lines >= first) & (looked_up.lines < first + lines.shape[1])
            piece = lines.clone()
            piece[looked_up.records[some], looked_up.lines[some] - first] += looked_up.gradients[
                some
            ]
            yield Piece(piece.flatten(1), slice(first, first + lines.shape[1]))

    def extents(self) -> Tensor:
        """A number for each row: zero only if its gradient is zero, NaN if it is undefined."""
        parts = [slot.extents().double() for slot in (self.matrix, self.table) if slot.used]
        return torch.stack(parts).amax(0)

    def clear(self) -> None:
        """Discard the batch."""
        self.matrix.clear()
        self.table.clear()

    def _add_look_ups(self, kept: Tensor) -> None:
        tokens, gradients = self.table.pair()
        rows, lines, width = kept.shape
        places = (torch.arange(rows, device=tokens.device)[:, None] * lines + tokens).flatten()
        kept.view(-1, width).index_add_(0, places, gradients.reshape(-1, width))
        self.matrix.add_size(lengths(gradients).sum(1), tokens.shape[1])
        self.table.clear()

    def _closely(self, rows: Tensor, size: Tensor) -> MeasuredNorms:
        """One record, from its formed gradient."""
        left, right = (one[rows].flatten(0, 1) for one in self.matrix.pair())
        tokens, looked_up = (one[rows].flatten(0, 1) for one in self.table.pair())
        gradient = torch.mm(left.t(), right).index_add_(0, tokens, looked_up)
        # Look-ups were summed once more, in another order, for the sum over the batch.
        return bound_approximated(gradient[None], size, len(left) + 2 * len(tokens))

    def _looked_up(self, records: Records) -> Tensor:
        """Σ_t |e_t| of each record."""
        return records.sum(lengths(self.table.pair()[1]).sum(1))

    def _doubt(self, size: Tensor, looked_up: Tensor, records: Records) -> Tensor:
        """The rounding error of twice the cross term, including that of summing look-ups."""
        (rows, places), width = self.table.pair()[0].shape, self.parameter.shape[1]
        places *= 1 if records.each_row else rows
        lefts = records.sum(self.matrix.places().lefts.sum(1))
        underflow = torch.finfo(self.parameter.dtype).tiny * width * places * (1 + lefts)
        share = gamma(width + 2 * places + 8, self.parameter.dtype)
        return 2 * (share * size * looked_up + underflow)

    def _cross_terms(self, records: Records) -> Tensor:
        seen = (*self.table.pair(), *self.matrix.pair())
        if records.each_row:
            return cross_terms(*seen)
        groups = records.groups()
        return torch.cat([cross_terms(*(as_one(one[rows]) for one in seen)) for rows in groups])


def cross_terms(tokens: Tensor, looked_up: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """⟨E, H⟩ of each row: E from look-ups, H = lᵀr from a product."""
    at_tokens = left.gather(2, tokens[:, None, :].expand(-1, left.shape[1], -1))
    products = torch.bmm(right, looked_up.transpose(1, 2)).mul_(at_tokens)
    return products.sum(2).double().sum(1)
