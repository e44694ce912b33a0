"""Blocks of a transformer that are computed again in the backward pass, to save memory.

In the forward pass only what enters each block is kept. In the backward pass a block is computed
again, used and forgotten. This takes about a third more time, and the memory of one block at a time
in place of all (Chen et al. 2016, "Training deep nets with sublinear memory cost").

Why gradients do not change
    A block is computed again from the same input, with the same weights and with the state that
    torch's generators had, so dropout has the same masks. Clipping records in the backward pass
    alone, so every use of a layer is recorded once, however often it was computed
    (``training.clipping.recording``).

Care
    What clipping records is kept until the norms of all layers are known: the input and the output
    gradient of every trained matrix. With low-rank factors that is little. Where all weights are
    trained it is most of the memory; ``all`` runs the backward pass again, too, and keeps none of
    it (``training.clipping.passes``).
"""

from __future__ import annotations

from typing import Any

from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument

NOTHING, BLOCKS, ALL = "nothing", "blocks", "all"
RECOMPUTED = (NOTHING, BLOCKS, ALL)


def recompute(network: Any, what: str) -> None:
    """Let a network compute its blocks again in the backward pass, in training mode."""
    if one_of("recompute", what, RECOMPUTED) == NOTHING:
        return
    # Through the wrapper, peft would also let what enters the first block have a gradient.
    inner = network.get_base_model() if hasattr(network, "get_base_model") else network
    if not getattr(inner, "supports_gradient_checkpointing", False):
        raise InvalidArgument(
            f"`recompute={what!r}` is for networks of blocks that can be computed again, as "
            f"transformers are; {type(inner).__name__} has none. Take fewer `tokens_at_once=...` "
            "to save memory"
        )
    # The other way of torch runs the forward pass without gradients, and needs an input with one.
    inner.gradient_checkpointing_enable({"use_reentrant": False})
