"""Linear layers, GPT-2's Conv1D, and with them LoRA factors: weights whose gradient is lᵀr.

Why the norm is right
    The gradient of a row is the sum over its T places of outer products, G = Σ_t l_t r_tᵀ, hence
    ‖G‖² = Σ_{t,s} (l_t·l_s)(r_t·r_s). A layer that is called several times, or shares its weight,
    has as many more places. Linear stores its weight as (out, in), so l is the gradient at the
    output and r the input; Conv1D stores the transpose and swaps the two. The factors of LoRA are
    two Linear layers.

Care
    The terms of the double sum can be large and cancel, and then rounding could make the norm too
    small, hence the clipped gradient too large. What rounding may have taken away, a few units in
    the last place of Σ_t |l_t|²|r_t|², is added back: the norm errs upwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.training.clipping.layers.costs import form_gradient, keep_gradient
from sfumato.training.clipping.layers.layer import Layer, Role, through
from sfumato.training.clipping.records import Records
from sfumato.training.clipping.slots import Slot, squares

# Units in the last place by which a sum of inner products may be too small: eight standard
# deviations of the rounding error, which grows like the root of the sum of the squared terms.
ROUNDING = 4.0
# From here on half of a symmetric product is worth leaving out.
WIDE = 1024


class MatrixSlot(Slot):
    """A weight that multiplies: pairs of l and r, or the gradients formed from them."""

    def __init__(self, parameter: Tensor) -> None:
        super().__init__(parameter)
        self.kept: Tensor | None = None
        self._pairs: list[tuple[Tensor, Tensor]] = []

    def collect(self, *seen: Tensor) -> None:
        """Add one use, l and r: both of shape (rows, places, width)."""
        left, right = seen
        self._pairs.append((left, right))
        places = sum(one.shape[1] for one, _ in self._pairs)
        if self.kept is not None or (
            self.each_row and keep_gradient(len(left), places, left.shape[2], right.shape[2])
        ):
            self.keep()

    def keep(self) -> None:
        """Form the gradients of the rows and forget what they were formed from."""
        for left, right in self._pairs:
            if self.kept is None:
                self.kept = torch.bmm(left.transpose(1, 2), right)
            else:
                self.kept.baddbmm_(left.transpose(1, 2), right)
        self._pairs.clear()

    def pair(self) -> tuple[Tensor, Tensor]:
        """All uses as one, with the places of all."""
        if len(self._pairs) > 1:
            lefts, rights = zip(*self._pairs, strict=True)
            self._pairs = [(torch.cat(lefts, 1), torch.cat(rights, 1))]
        return self._pairs[0]

    @property
    def used(self) -> bool:
        """Whether any layer wrote something down."""
        return self.kept is not None or bool(self._pairs)

    def squared_norms(self, records: Records) -> Tensor:
        """Squared norm of each record's gradient."""
        if self.kept is not None:
            return squares(self.kept)
        left, right = self.pair()
        if records.each_row:
            return squared_norms(left, right)
        return torch.cat(
            [squared_norms(as_one(left[rows]), as_one(right[rows])) for rows in records.groups()]
        )

    def weighted_sum(self, weights: Tensor) -> Tensor:
        """Sum of the rows' gradients, each times its weight."""
        if self.kept is not None:
            return (weights @ self.kept.flatten(1)).view(self.parameter.shape)
        left, right = self.pair()
        if left.shape[2] < right.shape[2]:
            left = left * weights[:, None, None]
        else:
            right = right * weights[:, None, None]
        return left.flatten(0, 1).t() @ right.flatten(0, 1)

    def extents(self) -> Tensor:
        """Of each row a number: zero only if its gradient is, NaN if that is undefined."""
        if self.kept is not None:
            return self.kept.flatten(1).abs().amax(1)
        left, right = self.pair()
        # A place counts if neither side of its outer product is zero.
        places = left.abs().amax(2).double() * right.abs().amax(2).double()
        return places.amax(1)

    def clear(self) -> None:
        """Forget the batch."""
        self.kept = None
        self._pairs.clear()


def squared_norms(left: Tensor, right: Tensor) -> Tensor:
    """‖lᵀr‖² of each row, the cheaper way."""
    if form_gradient(left.shape[1], left.shape[2], right.shape[2]):
        return squares(torch.bmm(left.transpose(1, 2), right))
    return inner_products(left, right)


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """⟨llᵀ, rrᵀ⟩ of each row, never smaller than the truth by rounding."""
    total = left.new_zeros(len(left))
    places = left.shape[1]
    # llᵀ is symmetric: of two off-diagonal blocks that mirror each other one is enough.
    size = -(-places // 2) if max(left.shape[2], right.shape[2]) >= WIDE else places
    for start in range(0, places, size):
        end = min(start + size, places)
        block = _gram(left, start, end).mul_(_gram(right, start, end))
        total += block.sum((1, 2))
        if end < places:
            total += block[:, :, end - start :].sum((1, 2))
    diagonal = squares_of_places(left) * squares_of_places(right)
    allowance = ROUNDING * torch.finfo(left.dtype).eps * diagonal.sum(1)
    return total.clamp_(min=0.0) + allowance


def squares_of_places(tensor: Tensor) -> Tensor:
    """Squared length at each place."""
    lengths: Tensor = torch.linalg.vector_norm(tensor, dim=2)
    return lengths.square()


def as_one(rows: Tensor) -> Tensor:
    """Several rows as a single one with the places of all."""
    return rows.reshape(1, -1, *rows.shape[2:])


def _gram(rows: Tensor, start: int, end: int) -> Tensor:
    return torch.bmm(rows[:, start:end], rows[:, start:].transpose(1, 2))


class RecordedLinear(Layer):
    """``nn.Linear``, also as a factor of LoRA."""

    transposed = False

    def roles(self) -> Mapping[str, Role]:
        """A matrix and perhaps a bias."""
        return {"weight": Role.MATRIX, "bias": Role.VECTOR}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The product, with input and output gradient written down."""
        return self.record(*args, **kwargs)

    def record(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """The product, with input and output gradient written down."""
        self.check_rows(input)
        output: Tensor = through(_Product, input, self.batch.anchor, self)
        return output

    def collect(self, entered: Tensor | None, gradient: Tensor) -> None:
        """Write down one use: what entered the layer, and the gradient at its output."""
        gradient = self.by_row(gradient)
        if "bias" in self.slots:
            self.write("bias", gradient.sum(1))
        if entered is not None:
            entered = self.by_row(entered)
            pair = (entered, gradient) if self.transposed else (gradient, entered)
            self.write("weight", *pair)


class RecordedConv1D(RecordedLinear):
    """GPT-2's Conv1D: a Linear layer that stores the transpose of its weight."""

    transposed = True


class _Product(torch.autograd.Function):
    """y = x·Wᵀ + b in which W and b are constants: the backward asks for no product with them."""

    @staticmethod
    def forward(ctx: Any, entered: Tensor, _anchor: Tensor, layer: RecordedLinear) -> Tensor:
        weight, bias = _weight_and_bias(layer)
        ctx.layer = layer
        if "weight" in layer.slots:
            ctx.save_for_backward(entered)
        return functional.linear(entered, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        weight, _ = _weight_and_bias(ctx.layer)
        saved = ctx.saved_tensors  # to be asked for once: asking may compute it again
        ctx.layer.collect(saved[0] if saved else None, gradient)
        return (gradient @ weight if ctx.needs_input_grad[0] else None), None, None


def _weight_and_bias(layer: RecordedLinear) -> tuple[Tensor, Tensor | None]:
    module: Any = layer.module
    return (module.weight.t() if layer.transposed else module.weight), module.bias
