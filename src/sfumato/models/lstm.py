"""``lstm``: one recurrent layer, the model of the Selective-DPSGD paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class Lstm:
    """An embedding, one LSTM layer and a linear map to the vocabulary.

    The sizes are those of Shi et al. 2022. ``tied`` uses the embedding as the linear map, too,
    which saves a matrix as large as the vocabulary; both sizes must then be equal. ``context`` is
    the length at which documents are split in training; the network itself has no limit.
    """

    embedding: int = 200
    hidden: int = 200
    context: int = 256
    dropout: float = 0.0
    tied: bool = False

    def __post_init__(self) -> None:
        at_least("embedding", self.embedding, 1)
        at_least("hidden", self.hidden, 1)
        at_least("context", self.context, 1)
        between("dropout", self.dropout, 0, 1)

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        if classes is not None:
            raise InvalidArgument(
                "lstm is a language model only; for a classifier take bilstm, gpt-small, a folder "
                "or a name on the hub"
            )
        from sfumato.models.lstm_network import LstmConfig, LstmForCausalLM

        return LstmForCausalLM(
            LstmConfig(
                vocab_size=tokenizer.size,
                embedding_size=self.embedding,
                hidden_size=self.hidden,
                context=self.context,
                dropout=float(self.dropout),
                tie_word_embeddings=self.tied,
                bos_token_id=tokenizer.begin,
                eos_token_id=tokenizer.end,
                pad_token_id=tokenizer.padding,
            )
        )
