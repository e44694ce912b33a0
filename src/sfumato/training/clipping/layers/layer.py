"""What all recorded layers share: a name, the batch they are in, and slots for their parameters.

Fewer digits
    A layer may be computed in bfloat16, under autocast or behind frozen weights of that precision.
    What it records is then the very numbers that were multiplied, and the gradients as they
    arrived. Every bfloat16 is also a float32, so slots take them over without rounding, and
    compute norms and sums in the precision of the parameter. The bound of ``rounding`` holds for
    any numbers that are recorded, so it holds for these: how well they approximate the gradient
    matters for learning, not for privacy. Numbers of float16 are refused: small gradients become
    zero in it without a scaled loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sfumato.core.errors import UnsupportedLayer
from sfumato.training.clipping.slots import Slot


class Role(Enum):
    """How a parameter is used in a layer, which decides how its gradient can be recorded."""

    MATRIX = auto()  # a product: the gradient is a sum of outer products
    FILTER = auto()  # a product with windows: the same, in another shape
    TABLE = auto()  # rows are looked up: the gradient has few rows
    VECTOR = auto()  # small: the gradient of every row is formed


@dataclass
class CurrentBatch:
    """The physical batch that is going through the model."""

    rows: int = 0
    # Whether some of what is computed has few digits, so that rows are compared less sharply.
    coarse: bool = False
    # With this tensor as an input, torch calls a layer's backward even if its actual input, such as
    # token numbers, has no gradient. The gradient of this tensor is never used.
    anchor: Tensor = field(default_factory=lambda: torch.zeros((), requires_grad=True))


def autocast_to(entered: Tensor, weight: Tensor) -> torch.dtype | None:
    """The precision that autocast asks for; None if it is off, and in double precision."""
    kind = entered.device.type
    if weight.dtype == torch.float64 or kind == "meta" or not torch.is_autocast_enabled(kind):
        return None
    return torch.get_autocast_dtype(kind)


def through(function: type[torch.autograd.Function], *inputs: object) -> Any:
    """Apply an autograd function."""
    return function.apply(*inputs)  # type: ignore[no-untyped-call]


class Layer(ABC):
    """One module of the model, and the forward pass that replaces its own.

    ``replaces`` is the method of the module that is replaced.
    """

    replaces: ClassVar[str] = "forward"

    def __init__(self, name: str, module: nn.Module, batch: CurrentBatch) -> None:
        self.name, self.module, self.batch = name, module, batch
        self.slots: dict[str, Slot] = {}

    @abstractmethod
    def roles(self) -> Mapping[str, Role]:
        """How each of the module's own parameters is used."""

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module would have computed; its backward pass records what is needed."""

    def trainable(self) -> dict[str, nn.Parameter]:
        """The module's own parameters that are to be trained."""
        return {
            name: parameter
            for name, parameter in self.module._parameters.items()  # under every name it has
            if parameter is not None and parameter.requires_grad
        }

    def write(self, name: str, *seen: Tensor) -> None:
        """Record what one of the parameters saw, if it is trained."""
        slot = self.slots.get(name)
        if slot is None:
            return
        other = {one.dtype for one in seen if one.is_floating_point()} - {slot.parameter.dtype}
        if other - {torch.bfloat16}:
            raise UnsupportedLayer(
                f"layer {self.name!r} ({type(self.module).__name__}) is computed in another "
                f"precision than that of its {name}, {slot.parameter.dtype}: its numbers would be "
                "rounded once more, or were lost; of the coarser ones only bfloat16 is supported"
            )
        self.batch.coarse = self.batch.coarse or bool(other)
        slot.collect(*seen)

    def total(self, name: str, gradient: Tensor) -> Tensor:
        """Σ over places, (rows, places, width) to (rows, width), in the parameter's precision."""
        return gradient.sum(1, dtype=self.slots[name].parameter.dtype)

    def by_row(self, tensor: Tensor) -> Tensor:
        """(rows, …, width) as (rows, places, width), detached."""
        return tensor.detach().reshape(tensor.shape[0], -1, tensor.shape[-1])

    def check_rows(self, tensor: Tensor) -> None:
        """Refuse input whose first axis is not the rows of the batch."""
        if tensor.dim() < 2 or tensor.shape[0] != self.batch.rows:
            raise UnsupportedLayer(
                f"layer {self.name!r} ({type(self.module).__name__}) was given input whose first "
                "axis is not the rows of the batch, so its gradient cannot be split by row; the "
                "rows must be the first of two or more axes everywhere"
            )
