"""Normalization: LayerNorm, RMSNorm, and the many classes that compute the same.

Why the norm is right
    Such a layer multiplies (and shifts) its normalized input by vectors of the width of the model.
    So the gradient of every row, Σ_t g_t·x̂_t for the weight and Σ_t g_t for the bias, is small
    enough to be formed.

Other people's classes
    Most transformers have their own class of RMSNorm. These are not recognized by name: a class
    qualifies if all its parameters are vectors and if it gives the same result, with the same
    gradients, when each row of a batch has its own copy of the vectors. This is tested on random
    numbers before training. A class that fails, because it mixes rows or calls a kernel that takes
    one vector only, is not supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.nn import functional

from sfumato.training.clipping.layers.layer import Layer, Role, through
from sfumato.training.clipping.slots import Slot


class RecordedLayerNorm(Layer):
    """``nn.LayerNorm`` over the last axis."""

    def roles(self) -> Mapping[str, Role]:
        """Vectors."""
        return {"weight": Role.VECTOR, "bias": Role.VECTOR}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The layer's output, with what its gradient needs recorded."""
        return self.record(*args, **kwargs)

    def record(self, input: Tensor) -> Tensor:  # noqa: A002  # torch calls it so
        """The layer's output, with what its gradient needs recorded."""
        self.check_rows(input)
        output: Tensor = through(_Normalize, input, self.batch.anchor, self)
        return output

    def collect(self, entered: Tensor, gradient: Tensor) -> None:
        """Record one use: what entered the layer, and the gradient at its output."""
        module: Any = self.module
        gradient = gradient.to(module.weight.dtype)
        if "bias" in self.slots:
            self.write("bias", self.by_row(gradient).sum(1))
        if "weight" in self.slots:
            shape, eps = module.normalized_shape, module.eps
            entered = entered.detach().to(gradient.dtype)
            normalized = torch.native_layer_norm(entered, shape, None, None, eps)[0]
            self.write("weight", self.by_row(normalized.mul_(gradient)).sum(1))


class _Normalize(torch.autograd.Function):
    """LayerNorm in which weight and bias are constants, in their precision whatever enters."""

    @staticmethod
    def forward(ctx: Any, entered: Tensor, _anchor: Tensor, layer: RecordedLayerNorm) -> Tensor:
        module: Any = layer.module
        output, mean, scale = torch.native_layer_norm(
            entered.to(module.weight.dtype),
            module.normalized_shape,
            module.weight,
            module.bias,
            module.eps,
        )
        ctx.layer = layer
        ctx.save_for_backward(entered, mean, scale)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        entered, mean, scale = ctx.saved_tensors
        ctx.layer.collect(entered, gradient)
        if not ctx.needs_input_grad[0]:
            return None, None, None
        module = ctx.layer.module
        dtype = module.weight.dtype
        before, _, _ = torch.ops.aten.native_layer_norm_backward(
            gradient.to(dtype).contiguous(), entered.to(dtype).contiguous(),
            module.normalized_shape, mean, scale, module.weight, module.bias,
            [True, False, False],
        )  # fmt: skip
        return before.to(entered.dtype), None, None


class RecordedVectors(Layer):
    """A module that multiplies or shifts by vectors: every row gets its own copy of them."""

    def roles(self) -> Mapping[str, Role]:
        """Vectors."""
        return dict.fromkeys(self.module._parameters, Role.VECTOR)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own forward, on copies of the vectors."""
        entered = next(one for one in (*args, *kwargs.values()) if isinstance(one, Tensor))
        self.check_rows(entered)
        copies = {
            name: _copies(through(_Copy, self.batch.anchor, slot, self.batch.rows), entered)
            for name, slot in self.slots.items()
        }
        with replace_norm(self.module, copies):
            return self.run(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes from its input and the replacements of its vectors."""
        return type(self.module).forward(self.module, *args, **kwargs)


class RecordedRMSNorm(RecordedVectors):
    """``nn.RMSNorm`` over the last axis, whose kernel takes one weight only."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Normalize, then multiply."""
        module: Any = self.module
        return self._normalized(*args, **kwargs) * module.weight

    def _normalized(self, x: Tensor) -> Tensor:
        module: Any = self.module
        return functional.rms_norm(x, module.normalized_shape, eps=module.eps)


class _Copy(torch.autograd.Function):
    """A vector, once for each row; the gradients of the copies are those of the rows."""

    @staticmethod
    def forward(ctx: Any, _anchor: Tensor, slot: Slot, rows: int) -> Tensor:
        ctx.slot = slot
        return slot.parameter.detach().expand(rows, -1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None]:
        ctx.slot.collect(gradient)
        return None, None, None


def is_elementwise(module: nn.Module) -> bool:
    """Whether a module has only vectors as parameters, and works with one copy for each row."""
    vectors = [vector for vector in module._parameters.values() if vector is not None]
    widths = {tuple(vector.shape) for vector in vectors}
    if list(module.children()) or len(widths) != 1 or len(next(iter(widths))) != 1:
        return False
    # Tried out on numbers, also if the module has none (``training.footprint``).
    device = "cpu" if vectors[0].is_meta else vectors[0].device
    try:
        with unset_fake_temporarily(), torch.device(device):
            return _rows_go_alone(module, vectors[0].dtype, len(vectors[0]))
    except Exception:  # a module that fails does not qualify
        return False


def _rows_go_alone(module: nn.Module, dtype: torch.dtype, width: int) -> bool:
    chance = torch.Generator().manual_seed(0)  # public numbers, only for testing the module

    def numbers(*shape: int) -> Tensor:
        drawn = torch.rand(*shape, generator=chance, device="cpu") + 0.5
        return drawn.to(dtype).to(torch.get_default_device()).requires_grad_()

    entered, weights = numbers(2, 3, width), numbers(2, 3, width).detach()
    vectors = {name: numbers(width) for name, one in module._parameters.items() if one is not None}
    copies = {name: one.detach().expand(2, width).clone() for name, one in vectors.items()}
    for copy in copies.values():
        copy.requires_grad_()

    def outcome(values: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        with replace_norm(module, values):
            output: Tensor = type(module).forward(module, rows)
        return output

    with torch.enable_grad():
        together = outcome({name: _copies(one, entered) for name, one in copies.items()}, entered)
        alone = [outcome(vectors, entered[row : row + 1]) for row in range(2)]
        split = torch.autograd.grad((together * weights).sum(), [entered, *copies.values()])
        for row in range(2):
            loss = (alone[row] * weights[row]).sum()
            of_input, *of_vectors = torch.autograd.grad(loss, [entered, *vectors.values()])
            pairs = [(together[row], alone[row][0]), (split[0][row], of_input[row])]
            pairs += [(one[row], other) for one, other in zip(split[1:], of_vectors, strict=True)]
            if not all(torch.allclose(one, other, rtol=1e-3, atol=1e-5) for one, other in pairs):
                return False
    return True


def _copies(rows: Tensor, entered: Tensor) -> Tensor:
    """(rows, width) as (rows, 1, …, width), to fit input with any number of axes."""
    return rows.reshape(len(rows), *(1,) * (entered.dim() - 2), rows.shape[1])


@contextmanager
def replace_norm(module: nn.Module, values: Mapping[str, Tensor]) -> Iterator[None]:
    """Replace a module's own parameters by other tensors within this block."""
    own = {name: module._parameters[name] for name in values}
    try:
        module._parameters.update(values)  # type: ignore[arg-type]
        yield
    finally:
        module._parameters.update(own)
