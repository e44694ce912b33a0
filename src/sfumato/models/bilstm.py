"""``bilstm``: one recurrent layer from each end of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, between, one_of
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class BiLstm:
    """Learned vectors, an LSTM in each direction, the ``mean`` or ``max`` of all states, linear.

    For classification only; ``hidden`` is the size of one direction. Documents are cut off at
    ``context`` tokens.
    """

    kind: ClassVar[str] = "classifier"

    embedding: int = 64
    hidden: int = 64
    combine: str = "mean"
    context: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("embedding", "hidden", "context"):
            at_least(name, getattr(self, name), 1)
        one_of("combine", self.combine, ("mean", "max"))
        between("dropout", self.dropout, 0, 1)

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        from sfumato.models.bilstm_network import BiLstmConfig, BiLstmForSequenceClassification
        from sfumato.models.small_classifier import refuse_language_model, shared_settings

        found = refuse_language_model("bilstm", classes)
        return BiLstmForSequenceClassification(
            BiLstmConfig(
                embedding_size=self.embedding,
                hidden_size=self.hidden,
                combine=self.combine,
                context=self.context,
                dropout=float(self.dropout),
                **shared_settings(tokenizer, found),
            )
        )
