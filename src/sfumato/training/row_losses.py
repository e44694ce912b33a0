"""The loss of each row of a batch, without a whole batch of scores where the network allows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from sfumato.models.output_layer import OutputLayer
from sfumato.training.clipping.level_losses import level_losses
from sfumato.training.clipping.losses import record_losses


def row_losses(
    network: Any,
    inputs: dict[str, Any],
    labels: Tensor,
    weights: Tensor,
    levels: Tensor | None = None,
) -> Tensor:
    """The sum of −ln p over each row's labels, times the row's weight.

    A weight must depend on its own row alone, or on public numbers. ``levels`` are those of a
    public tree of classes, if a label is one of them (``clipping.level_losses``).
    """
    if getattr(network, "is_gradient_checkpointing", False):
        inputs = inputs | {"use_cache": False}  # nothing can be kept of what is computed again
    if levels is not None:
        return level_losses(network(**inputs).logits, labels, levels) * weights
    output = network.get_output_embeddings()
    if isinstance(output, OutputLayer):
        with output.expecting(labels, weights):
            losses: Tensor = network(**inputs).logits
        return losses.flatten(1).sum(1)
    return record_losses(network(**inputs).logits, labels, divisor=1.0) * weights


def row_scores(network: Any, inputs: dict[str, Any]) -> Iterator[Tensor]:
    """The scores of each row in turn; without gradients."""
    output = network.get_output_embeddings()
    if isinstance(output, OutputLayer):
        with output.withheld():
            states = network(**inputs).logits
        yield from (output.scores(one) for one in states)
    else:
        yield from network(**inputs).logits
