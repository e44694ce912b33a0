"""Tables of relative positions, as T5 has them: one number for each head and distance.

Attention adds to the score of two places a number that depends on their distance alone. The numbers
stand in a small table (distances in buckets × heads), which the first layer of a stack looks up
once; the result is added in every layer, and in every row of the batch.

Why the norm is right
    What the table gives is repeated for every row by broadcasting, so its gradient would be summed
    over the batch already. The recorded layer repeats it itself. Autograd then adds up what all
    layers of the stack do with it, in the copy of each row, and the gradient of a row's table is
    the sum over all pairs of places of a bucket. Tables are small, so it is formed for every row.

Other people's classes
    T5, mT5, UMT5 and others have a class of their own for this, with a method ``compute_bias`` that
    looks up ``relative_attention_bias``. A class qualifies by these two. Their buckets are not
    computed here but seen when the method looks them up; if what it returns is not what was looked
    up, with the heads in front, the layer is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.core.errors import UnsupportedLayer
from sfumato.training.clipping.layers.layer import Layer, Role, through

_TABLE, _METHOD = "relative_attention_bias", "compute_bias"


def relative_table(module: nn.Module) -> nn.Embedding | None:
    """The table of relative positions that a module looks up itself; None if it has none."""
    table = module._modules.get(_TABLE)
    ours = isinstance(table, nn.Embedding) and callable(getattr(type(module), _METHOD, None))
    return table if ours and isinstance(table, nn.Embedding) else None


class RecordedRelativeBias(Layer):
    """The ``compute_bias`` of an attention module; its forward pass stays as it is."""

    replaces: ClassVar[str] = _METHOD

    def roles(self) -> Mapping[str, Role]:
        """Small, so that the gradient of every row is formed."""
        return {"weight": Role.VECTOR}

    def trainable(self) -> dict[str, nn.Parameter]:
        """The table, if it is to be trained."""
        weight = self._table._parameters["weight"]
        return {"weight": weight} if weight is not None and weight.requires_grad else {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """(rows, heads, places, places) in place of (1, heads, places, places)."""
        seen: list[tuple[Tensor, Tensor]] = []

        def look_up(buckets: Tensor) -> Tensor:
            found = functional.embedding(buckets, self._table.weight.detach())
            seen.append((buckets, found))
            return found

        self._table.__dict__["forward"] = look_up
        try:
            said = getattr(type(self.module), _METHOD)(self.module, *args, **kwargs)
        finally:
            self._table.__dict__.pop("forward", None)
        if len(seen) != 1 or not _is_plain(said, seen[0][1]):
            raise UnsupportedLayer(
                f"layer {self.name!r} ({type(self.module).__name__}) does more with its table of "
                "relative positions than to look it up, so its gradient cannot be split by row; "
                "freeze the table with requires_grad_(False)"
            )
        return through(_ForEveryRow, self.batch.anchor, self, seen[0][0], said)

    def collect(self, buckets: Tensor, gradient: Tensor) -> None:
        """Record one use: (rows, heads, places, places), summed by bucket."""
        heads = gradient.shape[1]
        gradient = gradient.detach().to(self._table.weight.dtype)  # before anything is added up
        by_pair = gradient.permute(0, 2, 3, 1).reshape(len(gradient), -1, heads)
        tables = by_pair.new_zeros(len(gradient), len(self._table.weight), heads)
        self.write("weight", tables.index_add_(1, buckets.flatten(), by_pair))

    @property
    def _table(self) -> nn.Embedding:
        found = self.module._modules[_TABLE]
        assert isinstance(found, nn.Embedding)  # noqa: S101  # the rules choose by it
        return found


def _is_plain(said: Any, looked_up: Tensor) -> bool:
    """Whether a bias is what was looked up for each pair of places, with the heads in front."""
    if not isinstance(said, Tensor) or looked_up.dim() != 3:
        return False
    return torch.equal(said, looked_up.permute(2, 0, 1)[None])


class _ForEveryRow(torch.autograd.Function):
    """The same numbers, once for each row; the gradients of the copies are those of the rows."""

    @staticmethod
    def forward(
        ctx: Any, _anchor: Tensor, layer: RecordedRelativeBias, buckets: Tensor, said: Tensor
    ) -> Tensor:
        ctx.layer = layer
        ctx.save_for_backward(buckets)
        return said.expand(layer.batch.rows, -1, -1, -1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        ctx.layer.collect(ctx.saved_tensors[0], gradient)
        return None, None, None, None
