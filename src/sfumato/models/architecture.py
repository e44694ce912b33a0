"""What a model built from scratch is: a few settings, and a way to make the network.

Initial weights come from a stream that is passed in, not from torch's global one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from sfumato.core.randomness import Randomness
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Architecture(Protocol):
    """Settings of a network; the vocabulary comes from the tokenizer."""

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """A network with fresh weights: a causal one, or a classifier if ``classes`` is given."""
        ...


@contextmanager
def draw_weights_from(randomness: Randomness) -> Iterator[None]:
    """Within this block, torch draws from ``randomness``; afterwards its own stream goes on.

    Initial weights are public: they hold nothing of the data, and no guarantee depends on them.
    """
    import torch

    seed = int(randomness.integers(2**62, 1)[0])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
