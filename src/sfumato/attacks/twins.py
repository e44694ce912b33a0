"""A twin of a model: the same network, never trained on the text in question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.attacks.model_target import ModelTarget
from sfumato.core.randomness import Randomness


def untrained(target: ModelTarget, randomness: Randomness) -> ModelTarget:
    """The same network with fresh weights; it knows nothing at all."""
    from sfumato.models.initial import drawn_from
    from sfumato.models.quiet import quiet

    network: Any = target.model.network
    with quiet(), drawn_from(randomness):
        fresh = type(network)(network.config)
    return ModelTarget(replace(target.model, network=fresh), "untrained")
