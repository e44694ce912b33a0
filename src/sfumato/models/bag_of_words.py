"""``bag-of-words``: the mean of learned word vectors, the smallest classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, between, one_of
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class BagOfWords:
    """Learned vectors, their ``mean`` or ``sum`` over a document's tokens, and a linear map.

    For classification only. The order of words is not read. Documents are cut off at ``context``
    tokens.
    """

    kind: ClassVar[str] = "classifier"

    embedding: int = 64
    combine: str = "mean"
    context: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        at_least("embedding", self.embedding, 1)
        one_of("combine", self.combine, ("mean", "sum"))
        at_least("context", self.context, 1)
        between("dropout", self.dropout, 0, 1)

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        from sfumato.models.bag_network import BagConfig, BagForSequenceClassification
        from sfumato.models.small_classifier import refuse_language_model, shared_settings

        found = refuse_language_model("bag-of-words", classes)
        return BagForSequenceClassification(
            BagConfig(
                embedding_size=self.embedding,
                combine=self.combine,
                context=self.context,
                dropout=float(self.dropout),
                **shared_settings(tokenizer, found),
            )
        )
