"""Which recorded layer stands in for a module of a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from torch import Tensor, nn

from sfumato.core.errors import UnsupportedLayer
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping.layers.embedding import RecordedEmbedding, TableSlot
from sfumato.training.clipping.layers.layer import Layer, Role
from sfumato.training.clipping.layers.linear import MatrixSlot, RecordedConv1D, RecordedLinear
from sfumato.training.clipping.layers.lstm import RecordedLSTM
from sfumato.training.clipping.layers.norms import (
    RecordedLayerNorm,
    RecordedRMSNorm,
    RecordedVectors,
    is_elementwise,
)
from sfumato.training.clipping.layers.tied import TiedSlot
from sfumato.training.clipping.slots import Slot, VectorSlot

SUPPORTED = (
    "Linear, Conv1D of GPT-2, Embedding, LayerNorm, RMSNorm of any kind, "
    "sfumato.models.lstm_layer.LSTM"
)


def rule_for(module: nn.Module) -> type[Layer] | None:
    """The recorded layer for a module, or None if there is none.

    A subclass qualifies only if it computes what its parent does.
    """
    if "forward" in vars(module):
        return None  # somebody else has put a forward of their own in place
    for parent, rule in _rules():
        if isinstance(module, parent) and type(module).forward is parent.forward:
            return rule if _over_last_axis(module) else None
    return RecordedVectors if is_elementwise(module) else None


def slot_for(parameter: Tensor, roles: Iterable[Role]) -> Slot | None:
    """Where the gradients of a parameter with these roles are gathered."""
    slots: dict[frozenset[Role], Callable[[Tensor], Slot]] = {
        frozenset({Role.MATRIX}): MatrixSlot,
        frozenset({Role.TABLE}): TableSlot,
        frozenset({Role.MATRIX, Role.TABLE}): TiedSlot,
        frozenset({Role.VECTOR}): VectorSlot,
    }
    make = slots.get(frozenset(roles))
    return None if make is None else make(parameter)


def unsupported(parameters: Iterable[str]) -> UnsupportedLayer:
    """The error that names parameters nobody can clip."""
    return UnsupportedLayer(
        f"no per-example gradients for {', '.join(sorted(parameters))}; supported are {SUPPORTED}. "
        "Replace the layer, or freeze it with requires_grad_(False); it would not be trained then"
    )


def _rules() -> Iterable[tuple[type[nn.Module], type[Layer]]]:
    yield nn.Linear, RecordedLinear
    yield nn.Embedding, RecordedEmbedding
    yield nn.LayerNorm, RecordedLayerNorm
    yield nn.RMSNorm, RecordedRMSNorm
    yield LSTM, RecordedLSTM
    transformers = sys.modules.get("transformers.pytorch_utils")
    if transformers is not None:  # without it there is no such layer in the model either
        yield transformers.Conv1D, RecordedConv1D


def _over_last_axis(module: nn.Module) -> bool:
    shape = getattr(module, "normalized_shape", (1,))
    return len(shape) == 1
