"""Linear layers, GPT-2's Conv1D, and with them LoRA factors: weights whose gradient is lᵀr.

Why the norm is right
    The gradient of a row is the sum over its T positions of outer products, G = Σ_t l_t r_tᵀ, hence
    ‖G‖² = Σ_{t,s} (l_t·l_s)(r_t·r_s). A layer that is called several times, or shares its weight,
    has correspondingly more positions. Linear stores its weight as (out, in), so l is the gradient
    at the output and r the input; Conv1D stores the transpose and swaps the two. The factors of
    LoRA are two Linear layers.

Care
    The terms of the double sum can be large and cancel. Then rounding could make the norm too
    small, hence the clipped gradient too large. ``rounding`` bounds this error for any input.

A row's gradient is G = lᵀr with l of T×m and r of T×n (positions × widths). There are two ways to
compute ‖G‖²:

- *inner products*, ⟨llᵀ, rrᵀ⟩: T²(m+n) multiplications; T² numbers are kept for a moment. The
  scaled sum over the batch, lᵀ(c·r), is one product later on, as in plain training.
- *instantiation*: form G, T·m·n multiplications, and keep it. The scaled sum is then only a
  weighted sum of these, so this is the same product as in plain training. The extra cost is memory
  traffic: m·n numbers of each row are written once and read twice.

So, beyond plain training, inner products cost T²(m+n) multiplications and instantiation costs the
traffic of m·n numbers. Instantiation is chosen if it takes less time and its memory, m·n, stays
within a few times what is recorded anyway, T(m+n).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sfumato.training.clipping.layers.layer import Layer, Role, autocast_to, through
from sfumato.training.clipping.rounding import (
    WIDTH,
    MeasuredNorms,
    add_up,
    bound_approximated,
    gamma,
    lengths,
    multiply,
    one_after_another,
    weigh,
)
from sfumato.training.clipping.slots import Piece, Records, Slot, piece_width

# Writing a number once and reading it twice takes as long as so many multiplications in a product;
# more if there are so many numbers that new memory is needed each time. Measured on x86-64 with
# MKL; the best choice changes little over a factor of two.
TRAFFIC, FRESH_TRAFFIC = 28, 130
FRESH = 8_000_000
# A kept gradient may take so many times the memory of the inputs and gradients it replaces.
MEMORY = 2


def keep_gradient(rows: int, places: int, left: int, right: int) -> bool:
    """Whether forming and keeping each row's gradient is cheaper than inner products.

    >>> keep_gradient(16, 128, 256, 768), keep_gradient(16, 128, 50257, 256)
    (True, False)
    >>> keep_gradient(16, 128, 768, 3072), keep_gradient(4, 512, 768, 3072)
    (False, True)
    """
    size, pair = left * right, left + right
    traffic = TRAFFIC if rows * size <= FRESH else FRESH_TRAFFIC
    return places * places * pair > traffic * size and size <= MEMORY * places * pair


def form_gradient(places: int, left: int, right: int) -> bool:
    """Whether forming a gradient only for its norm is cheaper than inner products.

    >>> form_gradient(1000, 100, 100), form_gradient(10, 100, 100)
    (True, False)
    """
    return left * right < places * (left + right)


# From this width on it pays to skip half of a symmetric product.
WIDE = 1024


class MatrixSlot(Slot):
    """A weight that multiplies: pairs of l and r, or the gradients formed from them."""

    def __init__(self, parameter: Tensor) -> None:
        super().__init__(parameter)
        self.kept: Tensor | None = None
        self._pairs: list[tuple[Tensor, Tensor]] = []
        self._places: Places | None = None
        self._size: Tensor | None = None
        self._summed = 0

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
        """Form the gradients of the rows and discard what they were formed from."""
        for pair in self._pairs:
            left, right = (one.to(self.parameter.dtype) for one in pair)
            self.add_size((lengths(left) * lengths(right)).sum(1), left.shape[1])
            if self.kept is None:
                self.kept = torch.bmm(left.transpose(1, 2), right)
            else:
                self.kept.baddbmm_(left.transpose(1, 2), right)
        self._pairs.clear()

    def add_size(self, size: Tensor, places: int) -> None:
        """Note the length and number of the terms that were added to the kept gradients."""
        self._size = size if self._size is None else self._size + size
        self._summed += places

    def pair(self) -> tuple[Tensor, Tensor]:
        """All uses joined along their positions."""
        if len(self._pairs) > 1:
            lefts, rights = zip(*self._pairs, strict=True)
            self._pairs = [(torch.cat(lefts, 1), torch.cat(rights, 1))]
        left, right = self._pairs[0]
        # Exact, since every bfloat16 is such a number, too; for a moment only, as it takes memory.
        return left.to(self.parameter.dtype), right.to(self.parameter.dtype)

    @property
    def used(self) -> bool:
        """Whether any layer recorded something."""
        return self.kept is not None or bool(self._pairs)

    def places(self) -> Places:
        """All uses as one, with the lengths at all places."""
        if self._places is not None:
            return self._places
        places = Places.of(*self.pair())
        if self._pairs[0][0].dtype == self.parameter.dtype == self._pairs[0][1].dtype:
            self._places = places
        return places

    def measure(self, records: Records) -> MeasuredNorms:
        """The norm of each record's gradient."""
        if self.kept is not None:
            return self._of_kept(self.kept)
        places = self.places()
        if records.each_row:
            return measure_product(places)
        order = records.single_rows()
        if order is not None:  # a row for each record, in another order: all at once
            return measure_product(places).of(order)
        return one_after_another(measure_product(places.joined(one)) for one in records.groups())

    def measure_closely(self, records: Records, which: Tensor) -> MeasuredNorms:
        """The same for some records, from their formed gradients."""
        if self.kept is not None:
            return self.measure(records).of(which)
        places = self.places()
        return one_after_another(form_product(places.joined(one)) for one in records.groups(which))

    def _of_kept(self, kept: Tensor) -> MeasuredNorms:
        """The same bound as without kept gradients, lest it depend on the batch's shape."""
        assert self._size is not None, "kept gradients without their sizes"  # noqa: S101
        return bound_approximated(kept, self._size, self._summed)

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight."""
        if self.kept is not None:
            return weigh(weights, self.kept.flatten(1)).view(self.parameter.shape)
        left, right = self.pair()
        of_rows = records.per_row(weights)[:, None, None]
        if left.shape[2] < right.shape[2]:
            left = left * of_rows
        else:
            right = right * of_rows
        return multiply(left.flatten(0, 1), right.flatten(0, 1))

    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """Σ_t l_tᵀDr_t of each record, in double precision."""
        if self.kept is not None:
            return self.kept.flatten(1).double() @ direction.flatten().double()
        left, right = self.pair()
        return records.sum(((left @ direction).double() * right).sum((1, 2)))

    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record."""
        if self.kept is not None:
            return self.kept
        left, right = self.pair()
        if records.each_row:
            return torch.bmm(left.transpose(1, 2), right)
        joined = ((as_one(left[rows]), as_one(right[rows])) for rows in records.groups())
        return torch.cat([torch.bmm(one.transpose(1, 2), other) for one, other in joined])

    def pieces(self, records: Records) -> Iterator[Piece]:
        """Some lines of the gradients at a time."""
        for first, some in self.lines(records):
            yield Piece(some.flatten(1), slice(first, first + some.shape[1]))

    def lines(self, records: Records) -> Iterator[tuple[int, Tensor]]:
        """Some lines of the gradients at a time, with the number of the first one."""
        if self.kept is not None:
            rows, _, width = self.kept.shape
            step = piece_width(rows, width)
            for number, some in enumerate(torch.split(self.kept, step, dim=1)):
                yield number * step, some
            return
        left, right = self.pair()
        step = piece_width(len(left), right.shape[2])
        for first in range(0, left.shape[2], step):
            some = left[:, :, first : first + step]
            yield first, records.sum(torch.bmm(some.transpose(1, 2), right))

    def extents(self) -> Tensor:
        """A number for each row: zero only if its gradient is zero, NaN if it is undefined."""
        if self.kept is not None:
            return self.kept.flatten(1).abs().amax(1)
        left, right = self.pair()
        # A position counts if neither factor of its outer product is zero.
        largest: list[Tensor] = [
            torch.linalg.vector_norm(one, math.inf, dim=2).double() for one in (left, right)
        ]
        return (largest[0] * largest[1]).amax(1)

    def clear(self) -> None:
        """Discard the batch."""
        self.kept = self._places = self._size = None
        self._summed = 0
        self._pairs.clear()


@dataclass(frozen=True, eq=False)
class Places:
    """l and r at the places of some rows, G = Σ_t l_t r_tᵀ of each, and how long they are."""

    left: Tensor
    right: Tensor
    lefts: Tensor
    rights: Tensor

    @classmethod
    def of(cls, left: Tensor, right: Tensor) -> Places:
        """From l and r: (rows, places, width)."""
        return cls(left, right, lengths(left), lengths(right))

    def joined(self, rows: Tensor) -> Places:
        """Some rows as a single one with the places of all."""
        every = (self.left, self.right, self.lefts, self.rights)
        return Places(*(as_one(one[rows]) for one in every))

    def size(self) -> Tensor:
        """Σ_t |l_t|·|r_t| of each row."""
        return (self.lefts * self.rights).sum(1)


def measure_product(places: Places) -> MeasuredNorms:
    """The norm of lᵀr of each row, the cheaper way."""
    if form_gradient(places.left.shape[1], places.left.shape[2], places.right.shape[2]):
        return form_product(places)
    return inner_products(places)


def form_product(places: Places) -> MeasuredNorms:
    """The norm of lᵀr of each row, from the product itself."""
    gradients = torch.bmm(places.left.transpose(1, 2), places.right)
    return bound_approximated(gradients, places.size(), places.left.shape[1])


def inner_products(places: Places) -> MeasuredNorms:
    """⟨llᵀ, rrᵀ⟩ of each row."""
    left, right = places.left, places.right
    total = left.new_zeros(len(left), dtype=torch.float64)
    count = left.shape[1]
    # llᵀ is symmetric: of two off-diagonal blocks that mirror each other one is enough.
    wide = max(left.shape[2], right.shape[2]) >= WIDE
    step = max(1, -(-count // 2) if wide else count)
    for start in range(0, count, step):
        end = min(start + step, count)
        block = _gram(left, start, end).mul_(_gram(right, start, end)).sum(1).double()
        total += block.sum(1) + block[:, end - start :].sum(1)
    return MeasuredNorms(total.clamp_(min=0.0), _doubt(places), places.size(), left.dtype)


def _doubt(places: Places) -> Tensor:
    """What rounding may have taken from the sum of inner products."""
    (count, left), right = places.left.shape[1:], places.right.shape[2]
    dtype = places.left.dtype
    share = gamma(_chain(left) + _chain(right) + count + 8, dtype)
    lost = left * places.rights.sum(1).square() + right * places.lefts.sum(1).square()
    return share * places.size().square() + torch.finfo(dtype).tiny * (lost + count * count)


def _chain(width: int) -> int:
    """Additions that a term of an inner product passes through."""
    return min(width, WIDTH) - (-width // WIDTH)


def as_one(rows: Tensor) -> Tensor:
    """Several rows as a single one with the places of all."""
    return rows.reshape(1, -1, *rows.shape[2:])


def _gram(rows: Tensor, start: int, end: int) -> Tensor:
    return add_up(
        torch.bmm(some[:, start:end], some[:, start:].transpose(1, 2))
        for some in torch.split(rows, WIDTH, dim=2)
    )


class RecordedLinear(Layer):
    """``nn.Linear``, also as a factor of LoRA."""

    transposed = False

    def roles(self) -> Mapping[str, Role]:
        """A matrix and perhaps a bias."""
        return {"weight": Role.MATRIX, "bias": Role.VECTOR}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The product, with input and output gradient recorded."""
        return self.record(*args, **kwargs)

    def record(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """The product, with input and output gradient recorded."""
        self.check_rows(input)
        output: Tensor = through(_Product, input, self.batch.anchor, self)
        return output

    def collect(self, entered: Tensor | None, gradient: Tensor) -> None:
        """Record one use: what entered the layer, and the gradient at its output."""
        gradient = self.by_row(gradient)
        if "bias" in self.slots:
            self.write("bias", self.total("bias", gradient))
        if entered is not None:
            entered = self.by_row(entered)
            pair = (entered, gradient) if self.transposed else (gradient, entered)
            self.write("weight", *pair)


class RecordedConv1D(RecordedLinear):
    """GPT-2's Conv1D: a Linear layer that stores the transpose of its weight."""

    transposed = True


class _Product(torch.autograd.Function):
    """y = x·Wᵀ + b with constant W and b: the backward pass computes no gradient for them.

    Under autocast the factors are rounded here, so that what is recorded is what was multiplied.
    """

    @staticmethod
    def forward(ctx: Any, entered: Tensor, _anchor: Tensor, layer: RecordedLinear) -> Tensor:
        weight, bias = _weight_and_bias(layer)
        ctx.layer, ctx.given = layer, entered.dtype
        cast = autocast_to(entered, weight)
        if cast is not None:
            entered, weight = entered.to(cast), weight.to(cast)
            bias = None if bias is None else bias.to(cast)
        if "weight" in layer.slots:
            ctx.save_for_backward(entered)
        return functional.linear(entered, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        weight, _ = _weight_and_bias(ctx.layer)
        saved = ctx.saved_tensors  # read once: with checkpointing, every access computes it again
        ctx.layer.collect(saved[0] if saved else None, gradient)
        if not ctx.needs_input_grad[0]:
            return None, None, None
        return (gradient @ weight.to(gradient.dtype)).to(ctx.given), None, None


def _weight_and_bias(layer: RecordedLinear) -> tuple[Tensor, Tensor | None]:
    module: Any = layer.module
    return (module.weight.t() if layer.transposed else module.weight), module.bias
