"""``t5-small-from-scratch``: a small network of encoder and decoder in T5's shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class T5Small:
    """T5's network in another size, with fresh weights.

    Nothing is pretrained, and it is not the model of that name on the hub. ``layers`` are those of
    the encoder, and as many of the decoder. Distances between tokens are told apart up to
    ``distance``, in ``buckets``. Encoder, decoder and output share one table of embeddings. A
    classifier is the encoder with a head.
    """

    kind: ClassVar[str] = "seq2seq"

    layers: int = 2
    width: int = 128
    heads: int = 4
    inner: int = 256
    buckets: int = 32
    distance: int = 128
    context: int = 128
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "inner", "context"):
            at_least(name, getattr(self, name), 1)
        at_least("buckets", self.buckets, 4)
        at_least("distance", self.distance, self.buckets)
        between("dropout", self.dropout, 0, 1)
        if self.width % self.heads:
            raise InvalidArgument(f"width={self.width} must be a multiple of heads={self.heads}")

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        from transformers import T5Config, T5ForConditionalGeneration

        config: Any = T5Config(
            vocab_size=tokenizer.size,
            d_model=self.width,
            d_kv=self.width // self.heads,
            d_ff=self.inner,
            num_layers=self.layers,
            num_heads=self.heads,
            relative_attention_num_buckets=self.buckets,
            relative_attention_max_distance=self.distance,
            dropout_rate=float(self.dropout),
            pad_token_id=tokenizer.padding,
            eos_token_id=tokenizer.end,
        )
        config.decoder_start_token_id = tokenizer.padding
        # Relative positions set no limit; this one is how the text is cut.
        config.context = self.context
        if classes is None:
            return T5ForConditionalGeneration(config)
        from sfumato.models.encoder_classifier import (
            EncoderClassifierConfig,
            EncoderForSequenceClassification,
        )

        config.num_labels = classes
        return EncoderForSequenceClassification(EncoderClassifierConfig.of(config))
