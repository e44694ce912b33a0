"""What small classifiers share: embeddings, a linear map to the classes, and who reads them.

A subclass says what is read of a row: ``read`` turns embeddings into one vector. The networks are
saved and loaded like any other model; ``sfumato.models.load`` registers them with Hugging Face's
Auto classes, not this module on import.

Why padding never matters
    Embeddings of padding are replaced by zero, whatever token stands there, and ``read`` is told
    which places count. So what is read of a row, and its gradient, are the same in a batch of any
    width, but for rounding. Rows are padded on the right; a mask with a gap before a real token is
    refused, because such a row would be read wrongly without an error. A row without any token is
    read as a single vector of zeros.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from sfumato.core.errors import InvalidArgument
from sfumato.models.kinds import only_classifies
from sfumato.models.lstm_layer import LSTM
from sfumato.models.tokenizer import Tokenizer

# Embeddings begin as normal numbers of this size.
SPREAD = 0.1


def refuse_language_model(name: str, classes: int | None) -> int:
    """The number of classes; without them a language model was asked for."""
    if classes is None:
        raise InvalidArgument(only_classifies(name))
    return classes


def shared_settings(tokenizer: Tokenizer, classes: int) -> dict[str, Any]:
    """What every configuration takes from the tokenizer and from the task."""
    return {
        "vocab_size": tokenizer.size,
        "num_labels": classes,
        "bos_token_id": tokenizer.begin,
        "eos_token_id": tokenizer.end,
        "pad_token_id": tokenizer.padding,
    }


class SmallClassifierConfig(PreTrainedConfig):
    """Sizes of the network; ``context`` is the length of a row in training, not a limit."""

    vocab_size: int = 8192
    embedding_size: int = 64
    context: int = 256
    dropout: float = 0.0
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None


class SmallClassifier(PreTrainedModel):
    """Embeddings, what is read of them, and a linear map from ``width`` numbers to the classes."""

    config_class = SmallClassifierConfig
    base_model_prefix = "model"

    def __init__(self, config: SmallClassifierConfig, width: int) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(width, int(config.num_labels or 0))

    def read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """What is read of each row: (rows, width) of (rows, places, embedding).

        Padding is zero already. ``lengths`` says how many places of a row count, at least one.
        """
        raise NotImplementedError

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Scores of the classes for every row.

        With ``labels`` also the mean loss of the batch. That mean couples the examples of a batch,
        so private training does not use it.
        """
        counted = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        if (counted[:, 1:] > counted[:, :-1]).any():
            raise InvalidArgument("attention_mask must have its padding on the right")
        real = counted.bool()
        embedded = torch.where(real[..., None], self.embedding(input_ids), 0.0)
        found = self.read(embedded, real.sum(1).clamp(min=1))
        logits = self.classifier(self.dropout(found))
        loss = None if labels is None else cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)  # type: ignore[arg-type]

    def get_input_embeddings(self) -> nn.Module:
        """The map from tokens to vectors."""
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Put another embedding in its place."""
        self.embedding = value  # type: ignore[assignment]

    def get_output_embeddings(self) -> None:
        """A classifier has none."""

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=SPREAD)
        elif isinstance(module, nn.Linear | nn.Conv1d):
            bound = 1 / math.sqrt(module.weight[0].numel())
            nn.init.uniform_(module.weight, -bound, bound)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, LSTM):
            bound = 1 / math.sqrt(module.hidden_size)
            for parameter in module.parameters():
                nn.init.uniform_(parameter, -bound, bound)


def places_that_count(lengths: Tensor, places: int) -> Tensor:
    """For every place of every row whether it counts: (rows, places).

    >>> places_that_count(torch.tensor([1, 3]), 3).tolist()
    [[True, False, False], [True, True, True]]
    """
    return torch.arange(places, device=lengths.device) < lengths[:, None]
