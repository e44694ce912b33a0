"""A classifier on the encoder of a T5: it reads a text, and a head scores the mean of what it says.

A text-to-text model that was trained further as a classifier keeps its encoder; the decoder is left
behind. Hugging Face's own classifier for T5 reads the decoder at the place of the token that ends a
text, and demands that all rows of a batch hold equally many of these. Where padding is the
same token, as in tokenizers from scratch, that fails on rows of different lengths, and it is a
demand on a batch, not on a row.

Why this mixes no records
    The mean is over a row's own places, by the row's own mask; padding has no part in it. Tables of
    relative positions and shared embeddings are clipped as in the whole network
    (``training.clipping.layers.relative_bias``).

The network is saved and loaded like any other model; ``models.load`` registers its ``model_type``
with Hugging Face's Auto classes, not this module on import.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn, ones_like
from transformers import T5Config, T5EncoderModel, T5PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from sfumato.models.kinds import OBJECTIVE
from sfumato.models.pooling import MEAN, pool

# What a folder with a T5 says of itself.
OF_T5 = "t5"


class EncoderClassifierConfig(T5Config):
    """That of a T5, under a name of its own."""

    model_type = "sfumato-t5-classifier"

    @classmethod
    def of(cls, config: T5Config) -> EncoderClassifierConfig:
        """From the configuration of a T5, whose decoder is left behind."""
        said = config.to_dict()
        for name in ("model_type", "architectures", OBJECTIVE):
            said.pop(name, None)
        return cls.from_dict(said | {"is_encoder_decoder": False, "use_cache": False})


class EncoderForSequenceClassification(T5PreTrainedModel):
    """The encoder of a T5, the mean over a row's places, and a linear head."""

    config_class = EncoderClassifierConfig
    # As in Hugging Face's classifier: a folder with a whole T5 lends its weights by this name.
    base_model_prefix = "transformer"

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.transformer = T5EncoderModel(config)
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.score = nn.Linear(config.d_model, int(config.num_labels or 0))
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """The scores of the classes, for every row."""
        counted = ones_like(input_ids) if attention_mask is None else attention_mask
        states = self.transformer(input_ids=input_ids, attention_mask=counted).last_hidden_state
        read = self.dropout(pool(states, counted, MEAN))
        return SequenceClassifierOutput(logits=self.score(read))
