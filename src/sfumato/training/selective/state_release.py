"""The state of a recurrent network as it leaves a private stretch: clipped and noised, or reset.

Guarantee
    The released states of a step are Gaussian releases with noise multiplier z: the state of a
    document, hidden and cell taken as one vector, has a norm of at most C and gets noise of
    standard deviation z·C in every coordinate. A document whose private part is null has the state
    0 before the noise, so its release moves by at most C. ``reset`` releases nothing at all.

Why it holds
    Hidden and cell state are shortened together, by one scale; taken one by one with the same C
    each, they would be two releases. Every document has noise of its own: states are not summed,
    and what is done with one of them later follows from its release.

Care
    The number of coordinates does not matter for privacy, but it does for use: the noise is z·C·√d
    long and the state at most C. A small C keeps what the network reads next from being drowned.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.accounting.events import computable_noise
from sfumato.core.errors import UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.models.lstm_layer import State
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.noise import add_noise


@dataclass(frozen=True, kw_only=True)
class StateRelease:
    """Bound and noise of the states that leave private stretches."""

    clip_norm: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        Flat(self.clip_norm)
        computable_noise("noise_multiplier", self.noise_multiplier)

    def release(self, states: State, randomness: Randomness) -> State:
        """Hidden and cell states (documents × size), safe to go on with.

        ``randomness`` must be a stream that is used for nothing else.
        """
        joined = clipped(torch.cat(states, dim=1), self.clip_norm)
        if self.noise_multiplier:
            add_noise([joined], self.noise_multiplier * self.clip_norm, randomness)
        hidden, cell = joined.chunk(2, dim=1)
        return hidden, cell


def clipped(states: Tensor, clip_norm: float) -> Tensor:
    """Every row, shortened to the bound where it is longer."""
    norms = torch.linalg.vector_norm(states.double(), dim=1)
    if not bool(norms.isfinite().all()):
        raise UndefinedGradient("a state of this batch is not finite; lower the learning rate")
    return (states * Flat(clip_norm).scales(norms)[:, None].to(states.dtype)).contiguous()
