"""A language model with one recurrent layer, as a Hugging Face model.

The network is that of Selective-DPSGD's experiments: an embedding, one LSTM layer, a linear map to
the vocabulary. It is saved and loaded like any other model; ``sfumato.models.load`` registers its
``model_type`` with Hugging Face's Auto classes, not this module on import.

Care
    Rows are padded on the right, so a recurrent layer reads the padding after the last real token.
    A mask with a gap before a real token is refused, because such a row would be read wrongly
    without an error.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling".
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from sfumato.core.errors import InvalidArgument
from sfumato.models.lstm_layer import LSTM, State
from sfumato.models.output_layer import OutputLayer


class LstmConfig(PreTrainedConfig):
    """Sizes of the network; ``context`` is the length of a row in training, not a limit."""

    model_type = "sfumato-lstm"

    vocab_size: int = 8192
    embedding_size: int = 200
    hidden_size: int = 200
    context: int = 256
    dropout: float = 0.0
    tie_word_embeddings: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    pad_token_id: int | None = None


class LstmForCausalLM(PreTrainedModel):
    """Embedding, LSTM, linear: the logits of the next token after each token of a row."""

    config_class = LstmConfig
    base_model_prefix = "model"
    _tied_weights_keys = {"decoder.weight": "embedding.weight"}  # noqa: RUF012  # read by the base

    def __init__(self, config: LstmConfig) -> None:
        super().__init__(config)
        if config.tie_word_embeddings and config.embedding_size != config.hidden_size:
            raise InvalidArgument(
                f"tied=True needs equal sizes; the embedding has {config.embedding_size} and the "
                f"state {config.hidden_size}"
            )
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = LSTM(config.embedding_size, config.hidden_size)
        self.decoder = OutputLayer(config.hidden_size, config.vocab_size)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        state: State | None = None,
        **_: Any,
    ) -> CausalLMOutput:
        """Logits at every place of every row.

        ``labels`` are the input again, as everywhere in Hugging Face's library, and the loss is the
        mean over all tokens of the batch. That mean couples the examples of a batch, so private
        training does not use it. ``state`` is the recurrent state to start from, by default zero.
        """
        if attention_mask is not None and (attention_mask[:, 1:] > attention_mask[:, :-1]).any():
            raise InvalidArgument("attention_mask must have its padding on the right")
        logits, _state = self.step(input_ids, state)
        loss = None
        if labels is not None:
            shifted = labels[:, 1:].reshape(-1)
            loss = cross_entropy(logits[:, :-1].flatten(0, 1), shifted)
        return CausalLMOutput(loss=loss, logits=logits)  # type: ignore[arg-type]  # any tensor

    def step(self, tokens: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Logits after each of the tokens (rows × length), and the state after the last.

        A common beginning of several rows need be read only once: give the state after it to each
        of the continuations.
        """
        embedded = self.dropout(self.embedding(tokens))
        outputs, after = self.lstm(embedded, state)
        return self.decoder(self.dropout(outputs)), after

    def get_input_embeddings(self) -> nn.Module:
        """The map from tokens to vectors."""
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Put another embedding in its place."""
        self.embedding = value  # type: ignore[assignment]

    def get_output_embeddings(self) -> nn.Module:
        """The map from states to logits."""
        return self.decoder

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Put another map in its place."""
        self.decoder = new_embeddings  # type: ignore[assignment]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding | nn.Linear):
            nn.init.uniform_(module.weight, -0.1, 0.1)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        elif isinstance(module, LSTM):
            bound = 1 / math.sqrt(self.config.hidden_size)
            for parameter in module.parameters():
                nn.init.uniform_(parameter, -bound, bound)
