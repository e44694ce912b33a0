"""Input and output embedding tied together: one table that is looked up and multiplied by.

Why the norm is right
    A record's gradient is E + H, with E from the look-ups and H from the product at the output, so
    ‖E+H‖² = ‖E‖² + ‖H‖² + 2⟨E, H⟩. With token u_t and gradient e_t at place t of the input, and
    input a_s and gradient g_s at place s of the output layer,

        ⟨E, H⟩ = Σ_{t,s} ⟨e_t, a_s⟩ · g_s[u_t],

    for E has the line e_t at u_t and H has the line Σ_s g_s[u]·a_s at u. Where the gradients are
    formed (``costs``), E is added to H before anything is squared.

Care
    Leaving the cross term out is the classic mistake: when a text repeats a word that the model
    also predicts, E and H point the same way, and the "clipped" gradient exceeds the bound.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.training.clipping.layers.embedding import TableSlot
from sfumato.training.clipping.layers.linear import MatrixSlot, as_one
from sfumato.training.clipping.records import Records
from sfumato.training.clipping.slots import Slot


class TiedSlot(Slot):
    """A table that is both looked up and multiplied by."""

    def __init__(self, parameter: Tensor) -> None:
        self.matrix = MatrixSlot(parameter)
        self.table = TableSlot(parameter)
        super().__init__(parameter)

    @property
    def each_row(self) -> bool:
        """Whether every row is a record of its own."""
        return self.matrix.each_row

    @each_row.setter
    def each_row(self, value: bool) -> None:
        self.matrix.each_row = self.table.each_row = value

    def collect(self, *seen: Tensor) -> None:
        """Add one use: a look-up if it begins with token numbers, else a product."""
        (self.matrix if seen[0].is_floating_point() else self.table).collect(*seen)

    @property
    def used(self) -> bool:
        """Whether any layer wrote something down."""
        return self.matrix.used or self.table.used

    def squared_norms(self, records: Records) -> Tensor:
        """Squared norm of each record's gradient, the cross term included."""
        if not self.table.used or not self.matrix.used:
            return (self.matrix if self.matrix.used else self.table).squared_norms(records)
        if self.matrix.kept is not None:
            self._add_look_ups(self.matrix.kept)
            return self.matrix.squared_norms(records)
        apart = self.matrix.squared_norms(records) + self.table.squared_norms(records)
        return (apart + 2 * self._cross_terms(records)).clamp_(min=0.0)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Sum of the rows' gradients, each times its weight."""
        parts = [slot.weighted_sum(weights) for slot in (self.matrix, self.table) if slot.used]
        return parts[0].add_(parts[1]) if len(parts) > 1 else parts[0]

    def extents(self) -> Tensor:
        """Of each row a number: zero only if its gradient is, NaN if that is undefined."""
        parts = [slot.extents().double() for slot in (self.matrix, self.table) if slot.used]
        return torch.stack(parts).amax(0)

    def clear(self) -> None:
        """Forget the batch."""
        self.matrix.clear()
        self.table.clear()

    def _add_look_ups(self, kept: Tensor) -> None:
        tokens, gradients = self.table.pair()
        rows, lines, width = kept.shape
        places = (torch.arange(rows, device=tokens.device)[:, None] * lines + tokens).flatten()
        kept.view(-1, width).index_add_(0, places, gradients.reshape(-1, width))
        self.table.clear()

    def _cross_terms(self, records: Records) -> Tensor:
        tokens, looked_up = self.table.pair()
        left, right = self.matrix.pair()
        if records.each_row:
            return cross_terms(tokens, looked_up, left, right)
        return torch.cat(
            [
                cross_terms(*(as_one(one[rows]) for one in (tokens, looked_up, left, right)))
                for rows in records.groups()
            ]
        )


def cross_terms(tokens: Tensor, looked_up: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """⟨E, H⟩ of each row: E from look-ups, H = lᵀr from a product."""
    at_tokens = left.gather(2, tokens[:, None, :].expand(-1, left.shape[1], -1))
    return torch.bmm(right, looked_up.transpose(1, 2)).mul_(at_tokens).sum((1, 2))
