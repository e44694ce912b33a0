"""What the attention of a layer reads, and the span of it that a gradient shows.

The weights of queries, keys and values are multiplied by the same inputs x_t, one for each place of
the batch. So the gradient of each, as a matrix (outputs × inputs), is Σ_t δ_t x_tᵀ: its rows lie
in the span of the inputs. The three are stacked: a direction that the queries hardly show is shown
by the values.

Care
    The rank of the span is judged for each layer by itself. Places of the batch that read the same
    in the first layer may differ in the second, and singular values fall at another rate; one rank
    for both layers leaves directions out, or takes noise in.

Layers are found by the usual names of their projections. What they read is computed by the network
itself, which is stopped there, so positions of any kind and norms before or after are as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sfumato.core.errors import InvalidArgument

# The names of the three projections, or of one that holds them all.
_NAMES = (
    ("query", "key", "value"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("c_attn",),
    ("query_key_value",),
)
_NUMBERS_AT_A_TIME = 1 << 24
# Singular values below this share of the largest are rounding.
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """The projections of a layer, by the names of their weights."""

    modules: tuple[nn.Module, ...]
    weights: tuple[str, ...]

    def stacked(self, gradient: dict[str, Tensor]) -> Tensor:
        """The gradients of all projections, (outputs, inputs), in double precision."""
        parts = []
        for module, name in zip(self.modules, self.weights, strict=True):
            one = gradient[name].double()
            # Conv1D keeps its weights as (inputs, outputs).
            parts.append(one.T if type(module).__name__ == "Conv1D" else one)
        return torch.cat(parts)


def attention_layers(network: Any) -> list[AttentionLayer]:
    """The layers of attention, first to last."""
    found = []
    for prefix, parent in network.named_modules():
        held = dict(parent.named_children())
        for names in _NAMES:
            modules = tuple(held[name] for name in names if name in held)
            if len(modules) == len(names) and all(hasattr(one, "weight") for one in modules):
                weights = tuple(f"{prefix}.{name}.weight" for name in names)
                found.append(AttentionLayer(modules, weights))
    return found


def first_two(network: Any) -> tuple[AttentionLayer, AttentionLayer]:
    """The first two layers of attention, whose weights are trained; or why there are none."""
    layers = attention_layers(network)
    if len(layers) < 2:
        raise InvalidArgument(
            f"the model has {len(layers)} layers of attention that are known here, and two are "
            "needed: the first shows words, the second how they are put together"
        )
    trained = {name for name, one in network.named_parameters() if one.requires_grad}
    for layer in layers[:2]:
        if not trained.issuperset(layer.weights):
            raise InvalidArgument(
                "the weights of the first two layers of attention are not all trained, so a step "
                "releases no span of what they read; gradient-candidates needs any gradient"
            )
    return layers[0], layers[1]


@dataclass(frozen=True, eq=False)
class Span:
    """An orthonormal basis (inputs, rank) of what a layer has read."""

    basis: Tensor
    least: float

    @classmethod
    def of(cls, layer: AttentionLayer, gradient: dict[str, Tensor], deviation: float) -> Span:
        """The span of the rows; with noise, of those singular values that noise does not give."""
        stacked = layer.stacked(gradient)
        _, values, directions = torch.linalg.svd(stacked, full_matrices=False)
        noise = deviation * (math.sqrt(stacked.shape[0]) + math.sqrt(stacked.shape[1]))
        rank = int((values > max(SMALLEST * float(values[0]), noise)).sum())
        least = noise / float(values[rank - 1]) if rank else math.inf
        return cls(directions[:rank].T.float().contiguous(), least)

    @property
    def rank(self) -> int:
        """How many directions the layer has read."""
        return self.basis.shape[1]

    @property
    def full(self) -> bool:
        """Whether everything lies in the span, so that it shows nothing."""
        return self.rank >= self.basis.shape[0]

    def distances(self, inputs: Tensor) -> Tensor:
        """How far each input is from the span, as a share of its length."""
        basis = self.basis.to(inputs.dtype)
        whole = inputs.square().sum(-1)
        inside = (inputs @ basis).square().sum(-1)
        return ((whole - inside).clamp(min=0) / whole.clamp(min=1e-30)).sqrt()


class _Enough(Exception):
    """Raised where a network need not be computed any further."""


@contextmanager
def _stopped_at(layer: AttentionLayer) -> Iterator[list[Tensor]]:
    caught: list[Tensor] = []

    def stop(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        caught.append(inputs[0])
        raise _Enough

    hook = layer.modules[0].register_forward_pre_hook(stop)
    try:
        yield caught
    finally:
        hook.remove()


def read_by(network: Any, layer: AttentionLayer, tokens: Tensor) -> Tensor:
    """What a layer reads at every place of rows of tokens: (rows, places, inputs)."""
    first: Any = layer.modules[0]
    width = int(first.weight.shape[0])
    at_once = max(1, _NUMBERS_AT_A_TIME // (tokens.shape[1] * width * 8))
    parts = []
    with torch.no_grad(), _stopped_at(layer) as caught:
        for some in torch.split(tokens, at_once):
            try:
                network(input_ids=some, attention_mask=torch.ones_like(some))
            except _Enough:
                parts.append(caught.pop())
    return torch.cat(parts)
