"""``cnn``: filters over neighboring words and their largest answers (Kim 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class Cnn:
    """Learned vectors, ``filters`` of each of the ``widths``, their maximum over time, linear.

    For classification only. A filter of width 3 sees three neighboring tokens at a time; a document
    shorter than that is read with zeros after it. Documents are cut off at ``context`` tokens.
    """

    kind: ClassVar[str] = "classifier"

    embedding: int = 64
    filters: int = 64
    widths: tuple[int, ...] = (3, 4, 5)
    context: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("embedding", "filters", "context"):
            at_least(name, getattr(self, name), 1)
        if not self.widths or len(set(self.widths)) < len(self.widths):
            raise InvalidArgument(
                f"widths={self.widths} must be one whole number or more, all different"
            )
        for width in self.widths:
            at_least("widths", width, 1)
        between("dropout", self.dropout, 0, 1)

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        from sfumato.models.cnn_network import CnnConfig, CnnForSequenceClassification
        from sfumato.models.small_classifier import refuse_language_model, shared_settings

        found = refuse_language_model("cnn", classes)
        return CnnForSequenceClassification(
            CnnConfig(
                embedding_size=self.embedding,
                filters=self.filters,
                filter_widths=list(self.widths),
                context=self.context,
                dropout=float(self.dropout),
                **shared_settings(tokenizer, found),
            )
        )
