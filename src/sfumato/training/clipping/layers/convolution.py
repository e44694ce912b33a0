"""Convolution over time, ``nn.Conv1d``: a Linear layer on windows of its input.

Why the norm is right
    A filter of width k multiplies windows of k neighboring places. With the window x_s, laid out as
    one vector, and the gradient g_s at the filter's answer, the gradient of a row is Σ_s g_s x_sᵀ:
    that of a Linear layer with as many positions as windows. Windows overlap, so a place counts in
    several of them; the sum over windows must be taken of outer products, not of g and x apart.

The windows are laid out in the backward pass only, so that what is kept in between is the input,
and not k copies of it. If only the bias is trained, not even that is kept.

Care
    Filters in ``groups``, and padding with anything but zeros, are refused: there is no rule for
    them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv1d_input

from sfumato.core.errors import UnsupportedLayer
from sfumato.training.clipping.layers.layer import CurrentBatch, Layer, Role, through
from sfumato.training.clipping.layers.linear import MatrixSlot
from sfumato.training.clipping.slots import Records


class FilterSlot(MatrixSlot):
    """Filters of shape (out, in, width): a matrix whose lines are laid out filters."""

    def weighted_sum(self, weights: Tensor, records: Records) -> Tensor:
        """Sum of the records' gradients, each times its weight."""
        return super().weighted_sum(weights, records).view(self.parameter.shape)

    def inner_products(self, direction: Tensor, records: Records) -> Tensor:
        """The inner products of the records' gradients with a direction, in double precision."""
        return super().inner_products(direction.flatten(1), records)

    def gradients(self, records: Records) -> Tensor:
        """The gradient of each record."""
        return super().gradients(records).view(-1, *self.parameter.shape)


class RecordedConvolution(Layer):
    """``nn.Conv1d``; its input is (rows, channels, places)."""

    def __init__(self, name: str, module: nn.Module, batch: CurrentBatch) -> None:
        super().__init__(name, module, batch)
        found = self.convolution
        for setting, value in (("groups", 1), ("padding_mode", "zeros")):
            if getattr(found, setting) != value:
                raise UnsupportedLayer(
                    f"layer {name!r} (Conv1d) has {setting}={getattr(found, setting)!r}, for which "
                    f"there is no rule; only {setting}={value!r} is supported"
                )

    @property
    def convolution(self) -> nn.Conv1d:
        """The module by its type."""
        assert isinstance(self.module, nn.Conv1d)  # noqa: S101
        return self.module

    def roles(self) -> Mapping[str, Role]:
        """Filters and perhaps a bias."""
        return {"weight": Role.FILTER, "bias": Role.VECTOR}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The answers, with input and output gradient recorded."""
        return self.record(*args, **kwargs)

    def record(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """The answers, with input and output gradient recorded."""
        self.check_rows(input)
        if input.dim() != 3:
            raise UnsupportedLayer(
                f"layer {self.name!r} (Conv1d) was given input without an axis for rows; give it "
                "(rows, channels, places)"
            )
        padded = functional.pad(input, _padding(self.convolution))
        output: Tensor = through(_Convolve, padded, self.batch.anchor, self)
        return output

    def collect(self, padded: Tensor | None, gradient: Tensor) -> None:
        """Record one use: the padded input, and the gradient at the answers."""
        gradient = gradient.detach().transpose(1, 2)
        if "bias" in self.slots:
            self.write("bias", gradient.sum(1))
        if padded is not None:
            self.write("weight", gradient.contiguous(), self.windows(padded.detach()))

    def windows(self, padded: Tensor) -> Tensor:
        """What the filters see in turn, each window as one vector: (rows, windows, in·width)."""
        found = self.convolution
        laid_out = functional.unfold(
            padded[:, :, None],
            (1, found.kernel_size[0]),
            dilation=(1, found.dilation[0]),
            stride=(1, found.stride[0]),
        )
        return laid_out.transpose(1, 2).contiguous()


class _Convolve(torch.autograd.Function):
    """The answers of constant filters to padded input."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, _anchor: Tensor, layer: RecordedConvolution) -> Tensor:
        found = layer.convolution
        ctx.layer, ctx.shape = layer, padded.shape
        if "weight" in layer.slots:
            ctx.save_for_backward(padded)
        return functional.conv1d(
            padded, found.weight, found.bias, stride=found.stride, dilation=found.dilation
        )

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        found = ctx.layer.convolution
        saved = ctx.saved_tensors  # read once: with checkpointing, every access computes it again
        ctx.layer.collect(saved[0] if saved else None, gradient)
        if not ctx.needs_input_grad[0]:
            return None, None, None
        before: Tensor = conv1d_input(  # type: ignore[no-untyped-call]
            ctx.shape, found.weight, gradient, stride=found.stride, dilation=found.dilation
        )
        return before, None, None


def _padding(found: nn.Conv1d) -> tuple[int, int]:
    """How many zeros stand before and after the input."""
    if isinstance(found.padding, str):
        whole = found.dilation[0] * (found.kernel_size[0] - 1) if found.padding == "same" else 0
        return whole // 2, whole - whole // 2
    return found.padding[0], found.padding[0]
