"""Two backward passes in place of one: first the norms, then the sum, and nothing kept between.

In one pass, what every layer saw is kept until the last norm is known, for the sum needs it again:
the input and the output gradient of all layers at once. Here a layer's part is measured as soon as
it is complete and then forgotten. When all scales are known, a second pass over the same graph
brings every layer its part again, which is scaled, added up and forgotten. Together with blocks
that are computed again (``models.recomputing``), a model needs the memory of one block at a time.

Guarantee
    That of one pass: what a record adds to the computed sum is no longer than the clipping norm.

Why it holds
    The second pass may see other numbers than the first: kernels that add in any order, dropout
    that is drawn anew, a layer that counts its calls. So nothing is assumed. What the second pass
    adds is measured again, from the very tensors that are added, with the same bounds on rounding
    (``rounding``), and refused as a whole unless every record's bound is within the one that its
    scale was computed from. For differences of rounding there is a little room: scales are
    computed from norms that are enlarged by ``AGAIN``, 0.1 % in single precision, in every batch
    alike, lest a scale depend on other records.

Care
    A part is complete when its layer has been heard as often as it was called. A layer whose result
    does not reach the loss is never heard; its part is closed at the end of the pass. One that is
    heard more often, because a loss is made of two calls of the model, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor

from sfumato.core.errors import InvalidArgument, UnsteadyGradient, UnsupportedLayer
from sfumato.training.clipping.rounding import MeasuredNorms
from sfumato.training.clipping.slots import Piece, Records, Slot

# The share by which norms are enlarged, in single precision: a second pass may round otherwise.
AGAIN = 1e-3


@dataclass(frozen=True, eq=False)
class Pass:
    """What is asked of every slot in one backward pass: a norm, a sum if there are weights."""

    records: Records
    weights: Tensor | None = None
    extents: bool = False


class PassingSlot(Slot):
    """A slot that computes what a pass asks for once it has heard everything, and then forgets.

    ``uses`` is how often its layers were called; ``doubtful`` are records to measure closely.
    """

    def __init__(self, inner: Slot) -> None:
        self.inner = inner
        super().__init__(inner.parameter)
        self.uses = 0
        self.doubtful: Tensor | None = None
        self._heard, self._closed = 0, False
        self._asked: Pass | None = None
        self._measured: MeasuredNorms | None = None
        self._total: Tensor | None = None
        self._extents: Tensor | None = None

    @property
    def each_row(self) -> bool:
        """Whether every row is a separate record."""
        return self.inner.each_row

    @each_row.setter
    def each_row(self, value: bool) -> None:
        self.inner.each_row = value

    def begin(self, asked: Pass) -> None:
        """A new backward pass."""
        self.clear()
        self._asked = asked

    def collect(self, *seen: Tensor) -> None:
        """Add what one use of the parameter saw; after the last one, compute and forget."""
        if self._closed:
            raise UnsupportedLayer(
                "a layer was used more often in the loss than in the last call of the model, so "
                "its gradient was measured too early; make the losses of one call, or train "
                "without a second pass"
            )
        self.inner.collect(*seen)
        self._heard += 1
        if self._heard == self.uses:
            self.close()

    def close(self) -> None:
        """Compute what the pass asks for from what was heard."""
        asked = self._asked
        if self._closed or asked is None or not self.inner.used:
            return
        self._closed = True
        if asked.extents:
            self._extents = self.inner.extents()
        measured = self.inner.measure(asked.records)
        if self.doubtful is not None:
            closer = self.inner.measure_closely(asked.records, self.doubtful)
            measured = measured.replaced(self.doubtful, closer)
        self._measured = measured
        if asked.weights is not None:
            self._total = self.inner.weighted_sum(asked.weights, asked.records)
        self.inner.clear()

    @property
    def used(self) -> bool:
        """Whether any layer recorded something."""
        return self._measured is not None

    def measure(self, records: Records) -> MeasuredNorms:  # noqa: ARG002  # those of the pass
        """The norm of each record's gradient, as measured in the pass."""
        assert self._measured is not None, "asked for a norm that was not measured"  # noqa: S101
        return self._measured

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:  # noqa: ARG002
        """The sum with the weights of the pass."""
        assert self._total is not None, "asked for a sum in a pass without weights"  # noqa: S101
        return self._total

    def extents(self) -> Tensor:
        """A number for each row: zero only if its gradient is zero, NaN if it is undefined."""
        assert self._extents is not None, "asked for extents that were not computed"  # noqa: S101
        return self._extents

    def inner_products(self, direction: Tensor, records: Records) -> NoReturn:  # noqa: ARG002
        """Refused: nothing is kept."""
        raise forgotten()

    def gradients(self, records: Records) -> NoReturn:  # noqa: ARG002
        """Refused: nothing is kept."""
        raise forgotten()

    def pieces(self, records: Records) -> Iterator[Piece]:  # noqa: ARG002
        """Refused: nothing is kept."""
        raise forgotten()

    def clear(self) -> None:
        """Discard the batch."""
        self.inner.clear()
        self._heard, self._closed, self._asked = 0, False, None
        self._measured = self._total = self._extents = None


def forgotten() -> InvalidArgument:
    """The error for releases that look at more than norms and sums."""
    return InvalidArgument(
        "with two backward passes nothing of a gradient is kept but its norm, and this way of "
        "training looks at the gradients themselves; train in one pass"
    )


def enlarge(measured: MeasuredNorms) -> MeasuredNorms:
    """Norms that leave room for the rounding of a second pass; bounds grow by the same share."""
    dtype = measured.dtype
    more = 1 + AGAIN * torch.finfo(dtype).eps / torch.finfo(torch.float32).eps
    square, doubt, size = measured.parts()
    return MeasuredNorms(square * more**2, doubt * more**2, size * more, dtype)


def refuse_other_numbers(promised: MeasuredNorms, added: MeasuredNorms) -> None:
    """Refuse a sum unless every record adds at most what its scale was computed from."""
    # Which record it was is secret. A bound that is not a number is not within another one.
    if not bool((added.bounds() <= promised.bounds()).all()):
        raise UnsteadyGradient(
            "the second backward pass computed other numbers than the first, so what it would add "
            "is not what was clipped; nothing of the batch is used. Some layer draws or counts "
            "outside of torch's generators, or a kernel is not deterministic "
            "(torch.use_deterministic_algorithms); train in one pass"
        )
