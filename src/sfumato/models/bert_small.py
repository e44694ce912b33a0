"""``bert-small``: a small masked language model in the shape of BERT, with fresh weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import BertConfig, PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class BertSmall:
    """BERT's network in another size, for masked language modeling, classes or tags.

    Nothing is pretrained. ``width`` must be a multiple of ``heads``; rows are at most ``context``
    tokens long.
    """

    kind: ClassVar[str] = "masked"

    layers: int = 4
    width: int = 256
    heads: int = 4
    context: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "context"):
            at_least(name, getattr(self, name), 1)
        between("dropout", self.dropout, 0, 1)
        if self.width % self.heads:
            raise InvalidArgument(f"width={self.width} must be a multiple of heads={self.heads}")

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        from transformers import BertForMaskedLM, BertForSequenceClassification

        config = self._config(tokenizer)
        if classes is None:
            return BertForMaskedLM(config)
        config.num_labels = classes
        return BertForSequenceClassification(config)

    def build_tagger(self, tokenizer: Tokenizer, labels: int) -> PreTrainedModel:
        """The network with a head for the label of every token."""
        from transformers import BertForTokenClassification

        config = self._config(tokenizer)
        config.num_labels = labels
        return BertForTokenClassification(config)

    def _config(self, tokenizer: Tokenizer) -> BertConfig:
        from transformers import BertConfig

        return BertConfig(
            vocab_size=tokenizer.size,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=4 * self.width,
            max_position_embeddings=self.context,
            hidden_dropout_prob=float(self.dropout),
            attention_probs_dropout_prob=float(self.dropout),
            pad_token_id=tokenizer.padding,
        )
