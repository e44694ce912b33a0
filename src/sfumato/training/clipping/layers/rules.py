"""Which recorded layer stands in for a module of a model: ours, and those that others register."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor, nn

from sfumato.core.errors import InvalidArgument, UnsupportedLayer
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

RuleT = TypeVar("RuleT", bound=Layer)

SUPPORTED = (
    "Linear, Conv1D of GPT-2, Embedding, LayerNorm, RMSNorm of any kind, "
    "sfumato.models.lstm_layer.LSTM"
)


@dataclass
class _Registered:
    rule: type[Layer]
    example: Callable[[], tuple[nn.Module, Tensor]]
    checked: bool = False


_REGISTERED: dict[type[nn.Module], _Registered] = {}


def register_layer(
    kind: type[nn.Module], *, example: Callable[[], tuple[nn.Module, Tensor]]
) -> Callable[[type[RuleT]], type[RuleT]]:
    """Register a recorded layer for modules of a kind, as a decorator.

    ``example`` makes such a module, and a batch of two rows or more for it. Before the rule is used
    for the first time it is tried on that, against a loop over records
    (``clipping.conformance.check_layer``), and refused if it is wrong. Layers that we support stay
    ours.
    """

    def decorate(rule: type[RuleT]) -> type[RuleT]:
        ours = [parent.__name__ for parent, _ in _rules() if kind is parent]
        if ours or kind in _REGISTERED:
            raise InvalidArgument(
                f"there is a rule for {kind.__name__} already; it is not replaced"
            )
        _REGISTERED[kind] = _Registered(rule, example)
        return rule

    return decorate


def _registered_rule(module: nn.Module) -> type[Layer] | None:
    for kind, found in _REGISTERED.items():
        if isinstance(module, kind) and type(module).forward is kind.forward:
            if not found.checked:
                from sfumato.training.clipping.conformance import check_layer

                found.checked = True  # also while it is tried, which asks for the rule again
                try:
                    check_layer(found.example)
                except BaseException:
                    found.checked = False
                    raise
            return found.rule
    return None


def rule_for(module: nn.Module) -> type[Layer] | None:
    """The recorded layer for a module, or None if there is none.

    A subclass qualifies only if it computes what its parent does.
    """
    if "forward" in vars(module):
        return None  # somebody else has put a forward of their own in place
    for parent, rule in _rules():
        if isinstance(module, parent) and type(module).forward is parent.forward:
            return rule if _over_last_axis(module) else None
    registered = _registered_rule(module)
    if registered is not None:
        return registered
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
        "Replace the layer, register a rule for it (register_layer), or freeze it with "
        "requires_grad_(False); it would not be trained then"
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
