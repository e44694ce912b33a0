"""A classifier's head by itself, on features that its frozen layers computed once.

If only the head is trained, all that stands before it is one fixed function of a text, and a
classifier's head reads one place of what the last layer says: the first (BERT) or the last one that
is no padding (GPT-2, Llama). So that place is computed once for each row, and the head is called on
it in every epoch. Where the head reads the mean of all places (``models.pooling``), every place has
it.

Why this changes nothing
    The network itself is called, on rows of one token, and its layers are replaced by one that
    returns the features. Normalizations, pooler, dropout and scores of the head are the network's
    own. Before features are used, the scores of padded rows are compared with those of the whole
    network, and if they differ by more than rounding, features are not used.

Care
    Features are as private as the text. They are kept in memory and written nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from sfumato.models.pooling import FIRST, LAST
from sfumato.models.trainable import NetworkParts, in_evaluation, try_out

# Sums in another order change scores by less than this share of what rows differ by.
_ROUNDING = 1e-3


class HeadOnly(nn.Module):
    """A classifier called on features (rows, width) in place of tokens; its layers do nothing."""

    def __init__(self, network: Any, parts: NetworkParts, place: str) -> None:
        super().__init__()
        self.network = network
        self.place = place
        self._head, self._shared = parts.head, parts.shared
        self._layers = [network.get_submodule(name) for name in parts.layers]
        self._padding = network.config.pad_token_id
        self._returns_tuple = _returns_tuple(network, self._layers)

    @classmethod
    def of(cls, network: Any) -> HeadOnly | None:
        """The head of a classifier; None if it needs more than one place of the last layer."""
        parts = NetworkParts.of(network)
        for place in (FIRST, LAST):
            found = cls(network, parts, place)
            if found.is_faithful():
                return found
        return None

    def forward(self, features: Tensor) -> Any:
        """The network's own outputs, for rows whose last layer says ``features``."""
        with self._answering(features[:, None]):
            tokens = torch.full((len(features), 1), self._word, device=features.device)
            return self.network(input_ids=tokens, attention_mask=torch.ones_like(tokens))

    def get_output_embeddings(self) -> None:
        """A classifier has none."""

    def features(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """What the last layer says at the place that the head reads; without gradients."""
        said: list[Tensor] = []
        hook = self._layers[-1].register_forward_hook(lambda *heard: said.append(_first(heard[2])))
        try:
            with torch.no_grad():
                self.network(input_ids=input_ids, attention_mask=attention_mask)
        finally:
            hook.remove()
        found = said[-1][torch.arange(len(input_ids)), self._places(input_ids)]
        return found.clone()

    @property
    def width(self) -> int:
        """How many numbers the last layer says at a place."""
        return int(self.network.config.hidden_size)

    def has_all(self, parameters: Iterable[Tensor]) -> bool:
        """Whether these belong to the head, and to no layer or embedding before it."""
        own = {
            one
            for name in self._head
            for one in self.network.get_submodule(name).parameters(recurse=False)
        }
        return all(one in own and one not in self._shared for one in parameters)

    def is_faithful(self) -> bool:
        """Whether the head on features gives the scores of the whole network, padded or not."""
        tokens, mask = self._trial()
        with torch.no_grad(), in_evaluation(self):
            whole = self.network(input_ids=tokens, attention_mask=mask).logits
            try:
                alone = self(self.features(tokens, mask)).logits
            except (IndexError, TypeError, ValueError):
                return False  # layers hand on more than what they say, as T5's do
        if whole.shape != alone.shape:
            return False
        # A head that says the same of every row would agree with anything.
        spread = (whole - whole.mean(0)).abs().max()
        return bool(spread > 0) and bool((whole - alone).abs().max() <= _ROUNDING * spread)

    def is_steady(self) -> bool:
        """Whether features are the same as in evaluation mode, whatever mode the modules are in."""
        trial = self._trial()
        here = [self.features(*trial) for _ in range(2)]
        with in_evaluation(self):
            there = self.features(*trial)
        return all(torch.equal(one, there) for one in here)

    def _trial(self) -> tuple[Tensor, Tensor]:
        """Tokens of three rows, two of them padded, and which of them count."""
        lengths = torch.tensor([[5], [3], [1]])
        mask = torch.arange(5) < lengths
        words = (torch.arange(5) + 1 + torch.arange(3)[:, None]) % self.network.config.vocab_size
        padding = self._word if self._padding is None else self._padding
        words = torch.where(words == padding, self._word, words)
        return torch.where(mask, words, padding), mask.long()

    @property
    def _word(self) -> int:
        """A token that is no padding."""
        return 1 if self._padding == 0 else 0

    def _places(self, tokens: Tensor) -> Tensor:
        """The place in each row; the last one that is no padding is found as the library does."""
        if self.place == FIRST or self._padding is None:
            return torch.zeros(len(tokens), dtype=torch.long)
        numbers = torch.arange(tokens.shape[1])
        found: Tensor = (numbers * (tokens != self._padding)).argmax(1)
        return found

    @contextmanager
    def _answering(self, features: Tensor) -> Iterator[None]:
        """Within this block every layer returns the features, as it returns its own result."""
        answer = (features,) if self._returns_tuple else features
        for layer in self._layers:
            layer.__dict__["forward"] = lambda *_, **__: answer
        try:
            yield
        finally:
            for layer in self._layers:
                layer.__dict__.pop("forward", None)


def _returns_tuple(network: Any, layers: Sequence[nn.Module]) -> bool:
    """Whether layers return their result as the first of several."""
    said: list[bool] = []
    hook = layers[-1].register_forward_hook(lambda *heard: said.append(isinstance(heard[2], tuple)))
    try:
        try_out(network)
    finally:
        hook.remove()
    return said[-1]


def _first(said: Any) -> Tensor:
    found: Tensor = said[0] if isinstance(said, tuple) else said
    return found
