"""What a model built from scratch is: a few settings, and a way to make the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sfumato.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Architecture(Protocol):
    """Settings of a network; the vocabulary comes from the tokenizer."""

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """A network with fresh weights: a causal one, or a classifier if ``classes`` is given."""
        ...
