"""A convolutional classifier: filters over neighboring words, the maximum over time, a linear map.

A filter of width k sees k neighboring words at a time. What is read of a text is, for each filter,
its largest answer anywhere in the text.

Why padding never matters
    A row of n tokens has n − k + 1 windows of width k, and one if it is shorter than the filter;
    that one sees zeros after the text. Windows that begin later do not count: their answers are
    replaced by −∞ before the maximum, so that they have no gradient either. Where several windows
    have the same answer, the gradient is divided among them, whatever the width of the batch.

Reference
    Kim 2014, "Convolutional neural networks for sentence classification".
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from sfumato.models.small_classifier import (
    SmallClassifier,
    SmallClassifierConfig,
    places_that_count,
)


class CnnConfig(SmallClassifierConfig):
    """Sizes of the network: as many ``filters`` of each of the ``filter_widths``."""

    model_type = "sfumato-cnn"

    filters: int = 64
    filter_widths: tuple[int, ...] | list[int] = (3, 4, 5)


class CnnForSequenceClassification(SmallClassifier):
    """Embeddings, filters, their largest answers, linear."""

    config_class = CnnConfig

    def __init__(self, config: CnnConfig) -> None:
        super().__init__(config, config.filters * len(config.filter_widths))
        # By width, not in a list: the filters stand beside each other, and none is the last layer.
        self.convolutions = nn.ModuleDict(
            {
                str(width): nn.Conv1d(config.embedding_size, config.filters, width)
                for width in config.filter_widths
            }
        )
        self.post_init()  # type: ignore[no-untyped-call]

    def read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """The largest answer of every filter, or zero if all are negative."""
        short = max(0, max(self.config.filter_widths) - embedded.shape[1])
        entered = pad(embedded.transpose(1, 2), (0, short))
        found = []
        for width in self.config.filter_widths:
            answers = self.convolutions[str(width)](entered)
            windows = (lengths - width + 1).clamp(min=1)
            real = places_that_count(windows, answers.shape[2])
            found.append(answers.masked_fill(~real[:, None], -math.inf).amax(2))
        return torch.cat(found, 1).relu()
