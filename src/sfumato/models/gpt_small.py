"""``gpt-small``: a small transformer in the shape of GPT-2, with fresh weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import at_least, between
from sfumato.core.errors import InvalidArgument
from sfumato.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import GPT2Config, PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class GptSmall:
    """GPT-2's network in another size, for language modeling, classes or tags.

    Nothing is pretrained: all that such a model can do is learned from the training text. ``width``
    must be a multiple of ``heads``; rows are at most ``context`` tokens long.
    """

    layers: int = 4
    width: int = 256
    heads: int = 4
    context: int = 256
    dropout: float = 0.0

    def __post_init__(self) -> None:
        at_least("layers", self.layers, 1)
        at_least("width", self.width, 1)
        at_least("heads", self.heads, 1)
        at_least("context", self.context, 1)
        between("dropout", self.dropout, 0, 1)
        if self.width % self.heads:
            raise InvalidArgument(f"width={self.width} must be a multiple of heads={self.heads}")

    def build(self, tokenizer: Tokenizer, classes: int | None) -> PreTrainedModel:
        """The network with fresh weights."""
        from transformers import GPT2ForSequenceClassification, GPT2LMHeadModel

        config = self._config(tokenizer)
        if classes is None:
            return GPT2LMHeadModel(config)
        config.num_labels = classes
        return GPT2ForSequenceClassification(config)

    def build_tagger(self, tokenizer: Tokenizer, labels: int) -> PreTrainedModel:
        """The network with a head for the label of every token; it reads what stands before."""
        from transformers import GPT2ForTokenClassification

        config: Any = self._config(tokenizer)
        config.num_labels = labels
        config.classifier_dropout = float(self.dropout)  # a tenth unless told
        return GPT2ForTokenClassification(config)

    def _config(self, tokenizer: Tokenizer) -> GPT2Config:
        from transformers import GPT2Config

        return GPT2Config(
            vocab_size=tokenizer.size,
            n_positions=self.context,
            n_embd=self.width,
            n_layer=self.layers,
            n_head=self.heads,
            resid_pdrop=float(self.dropout),
            embd_pdrop=float(self.dropout),
            attn_pdrop=float(self.dropout),
            bos_token_id=tokenizer.begin,
            eos_token_id=tokenizer.end,
            pad_token_id=tokenizer.padding,
        )
