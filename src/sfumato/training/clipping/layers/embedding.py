"""Embeddings: a table in which each row of the batch looks up a few lines.

Why the norm is right
    The gradient of a row of the batch is zero except for the lines it looked up, and the gradients
    of equal tokens add up. So equal tokens of a record are summed first and squared afterwards; the
    work is proportional to the number of tokens, and no dense one-hot matrix is formed. The sums of
    a record are kept, scaled and added to the others: exactly the values that were measured are
    used, whatever their rounding errors.

Positions
    Models look up positions once for all rows, and the result is repeated by broadcasting; its
    gradient would then be summed over the batch already. The recorded layer repeats the result
    itself, so that every row has a separate gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.core.errors import UnsupportedLayer
from sfumato.training.clipping.layers.layer import CurrentBatch, Layer, Role, through
from sfumato.training.clipping.rounding import MeasuredNorms, add_up, bound_formed, pieces
from sfumato.training.clipping.slots import Piece, Records, Slot, piece_width


@dataclass(frozen=True)
class _Lines:
    """Lines of the table with a gradient, one entry for each record and line."""

    records: Tensor
    lines: Tensor
    gradients: Tensor


class TableSlot(Slot):
    """A table that is looked up: token numbers and the gradients that arrived for them."""

    def __init__(self, parameter: Tensor) -> None:
        super().__init__(parameter)
        self._pairs: list[tuple[Tensor, Tensor]] = []
        self._lines: _Lines | None = None

    def collect(self, *seen: Tensor) -> None:
        """Add one use: tokens (rows, places) and gradients (rows, places, width)."""
        tokens, gradients = seen
        self._pairs.append((tokens, gradients.to(self.parameter.dtype)))

    def pair(self) -> tuple[Tensor, Tensor]:
        """All uses joined along their positions."""
        if len(self._pairs) > 1:
            tokens, gradients = zip(*self._pairs, strict=True)
            self._pairs = [(torch.cat(tokens, 1), torch.cat(gradients, 1))]
        return self._pairs[0]

    @property
    def used(self) -> bool:
        """Whether any layer recorded something."""
        return bool(self._pairs)

    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient."""
        lines = self.of_records(records)
        each = bound_formed(lines.gradients)
        square, doubt = (
            one.new_zeros(records.count).index_add_(0, lines.records, one)
            for one in (each.square, each.doubt)
        )
        return MeasuredNorms(square, doubt, (square + doubt).sqrt(), each.dtype)

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight."""
        lines = self.of_records(records)
        scaled = lines.gradients * weights[lines.records, None]
        size = len(self.parameter)
        # Lines are in the order of the records, so each piece has the lines of few enough records.
        first = [int(some[0]) for some in pieces(torch.arange(records.count))][1:]
        ends: list[int] = []
        if first:
            ends = torch.searchsorted(lines.records, torch.tensor(first).to(lines.records)).tolist()
        parts = zip(*(torch.tensor_split(one, ends) for one in (scaled, lines.lines)), strict=True)
        return add_up(_into_table(gradients, numbers, size) for gradients, numbers in parts)

    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """Σ_t ⟨D[u_t], e_t⟩ of each record, in double precision."""
        tokens, gradients = self.pair()
        return records.sum((direction[tokens].double() * gradients).sum((1, 2)))

    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record, a whole table each."""
        lines = self.of_records(records)
        tables = lines.gradients.new_zeros(records.count, *self.parameter.shape)
        tables[lines.records, lines.lines] = lines.gradients
        return tables

    def pieces(self, records: Records) -> Iterator[Piece]:
        """Some of the lines that any record looked up at a time."""
        lines = self.of_records(records)
        numbers, place = torch.unique(lines.lines, return_inverse=True)
        width = lines.gradients.shape[1]
        step = piece_width(records.count, width)
        for first in range(0, len(numbers), step):
            last = min(first + step, len(numbers))
            some = (place >= first) & (place < last)
            piece = lines.gradients.new_zeros(records.count, last - first, width)
            piece[lines.records[some], place[some] - first] = lines.gradients[some]
            yield Piece(piece.flatten(1), numbers[first:last])

    def extents(self) -> Tensor:
        """A number for each row: zero only if its gradient is zero, NaN if it is undefined."""
        return self.pair()[1].flatten(1).abs().amax(1)

    def clear(self) -> None:
        """Discard the batch."""
        self._pairs.clear()
        self._lines = None

    def of_records(self, records: Records) -> _Lines:
        """The lines that each record looked up, with its gradient at each."""
        if self._lines is None:
            self._lines = self._summed(records)
        return self._lines

    def _summed(self, records: Records) -> _Lines:
        tokens, gradients = self.pair()
        width, size = gradients.shape[2], len(self.parameter)
        keys = (records.indices(tokens)[:, None] * size + tokens).flatten()
        distinct, place = torch.unique(keys, return_inverse=True)
        sums = gradients.new_zeros(len(distinct), width)
        sums.index_add_(0, place, gradients.reshape(-1, width))
        return _Lines(distinct // size, distinct % size, sums)


def _into_table(gradients: Tensor, lines: Tensor, size: int) -> Tensor:
    table: Tensor = torch.ops.aten.embedding_dense_backward(gradients, lines, size, -1, False)
    return table


class RecordedEmbedding(Layer):
    """``nn.Embedding``."""

    def __init__(self, name: str, module: nn.Module, batch: CurrentBatch) -> None:
        super().__init__(name, module, batch)
        table: Any = module
        # The gradient of one row must not depend on what other rows look up.
        for setting in ("max_norm", "scale_grad_by_freq", "sparse"):
            if getattr(table, setting):
                raise UnsupportedLayer(
                    f"layer {name!r} (Embedding) has {setting}={getattr(table, setting)}, with "
                    "which gradients cannot be clipped row by row; make it without this setting"
                )
        self._repeats: bool | None = None

    def roles(self) -> Mapping[str, Role]:
        """A table."""
        return {"weight": Role.TABLE}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The lines, with token numbers and output gradient recorded."""
        return self.record(*args, **kwargs)

    def record(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """The lines, with token numbers and output gradient recorded."""
        output: Tensor = through(_LookUp, self._for_every_row(input), self.batch.anchor, self)
        return output

    def collect(self, tokens: Tensor, gradient: Tensor) -> None:
        """Record one use."""
        padding: int | None = self.module.padding_idx  # type: ignore[assignment]
        if padding is not None:
            gradient = gradient.masked_fill((tokens == padding)[..., None], 0.0)
        self.write("weight", tokens.reshape(len(tokens), -1), self.by_row(gradient))

    def _for_every_row(self, tokens: Tensor) -> Tensor:
        """Token numbers with the rows of the batch as their first axis."""
        rows = self.batch.rows
        if tokens.dim() == 1:
            if self._repeats is None and max(len(tokens), rows) > 1:
                # One token per row, or the positions of all rows? This is decided once, so that a
                # batch with as many rows as positions is not confused later.
                self._repeats = len(tokens) != rows or tokens.tolist() == list(range(rows))
            if self._repeats:
                return tokens.expand(rows, -1)
        elif len(tokens) == 1:
            return tokens.expand(rows, *tokens.shape[1:])
        if len(tokens) != rows:
            self.check_rows(tokens)
        return tokens


class _LookUp(torch.autograd.Function):
    """Lines of a constant table."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, _anchor: Tensor, layer: RecordedEmbedding) -> Tensor:
        ctx.layer = layer
        ctx.save_for_backward(tokens)
        table: Any = layer.module.weight
        return functional.embedding(tokens, table)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None]:
        ctx.layer.collect(ctx.saved_tensors[0], gradient)
        return None, None, None
