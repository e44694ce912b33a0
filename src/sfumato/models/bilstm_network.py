"""A recurrent classifier: one LSTM layer from each end, the mean or maximum of all states, linear.

Why padding never matters
    Each row is turned around within its own length, so the layer that reads from the end begins
    with the last word of the row, not with padding. Padding comes after the words for both layers;
    their states there are not read, and have no gradient.

Reference
    Graves and Schmidhuber 2005, "Framewise phoneme classification with bidirectional LSTM and other
    neural network architectures".
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sfumato.core.checks import one_of
from sfumato.models.lstm_layer import LSTM
from sfumato.models.small_classifier import (
    SmallClassifier,
    SmallClassifierConfig,
    places_that_count,
)

COMBINE = ("mean", "max")


class BiLstmConfig(SmallClassifierConfig):
    """Sizes of the network; ``combine`` is ``mean`` or ``max``."""

    model_type = "sfumato-bilstm"

    hidden_size: int = 64
    combine: str = "mean"


class BiLstmForSequenceClassification(SmallClassifier):
    """Embeddings, two LSTM layers in opposite directions, the mean or maximum of states, linear."""

    config_class = BiLstmConfig

    def __init__(self, config: BiLstmConfig) -> None:
        one_of("combine", config.combine, COMBINE)
        super().__init__(config, 2 * config.hidden_size)
        self.onwards = LSTM(config.embedding_size, config.hidden_size)
        self.backwards = LSTM(config.embedding_size, config.hidden_size)
        self.post_init()  # type: ignore[no-untyped-call]

    def read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """Mean or maximum over a row's own places; their order does not matter any more."""
        around = turned(embedded, lengths)
        states = torch.cat([self.onwards(embedded)[0], self.backwards(around)[0]], 2)
        real = places_that_count(lengths, states.shape[1])[..., None]
        if self.config.combine == "max":
            return states.masked_fill(~real, -math.inf).amax(1)
        return torch.where(real, states, 0.0).sum(1) / lengths[:, None]


def turned(rows: Tensor, lengths: Tensor) -> Tensor:
    """Each row from its last place to its first; padding stays where it is.

    >>> rows = torch.tensor([[[1], [2], [0]], [[3], [4], [5]]])
    >>> turned(rows, torch.tensor([2, 3])).squeeze(2).tolist()
    [[2, 1, 0], [5, 4, 3]]
    """
    places = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape[:2])
    real = places_that_count(lengths, rows.shape[1])
    sources = torch.where(real, lengths[:, None] - 1 - places, places)
    return rows.gather(1, sources[..., None].expand_as(rows))
