"""Models and tokenizers: built from scratch, loaded, adapted, saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.models.adapters import Adapters as Adapters
    from sfumato.models.bag_of_words import BagOfWords as BagOfWords
    from sfumato.models.bilstm import BiLstm as BiLstm
    from sfumato.models.bpe import default_tokenizer as default_tokenizer
    from sfumato.models.bpe import train_bpe as train_bpe
    from sfumato.models.bpe import train_on_public as train_on_public
    from sfumato.models.cnn import Cnn as Cnn
    from sfumato.models.generate import TokenSampling as TokenSampling
    from sfumato.models.generate import continue_text as continue_text
    from sfumato.models.gpt_small import GptSmall as GptSmall
    from sfumato.models.learned import Bpe as Bpe
    from sfumato.models.learned import TokenizerKind as TokenizerKind
    from sfumato.models.learned import WordPiece as WordPiece
    from sfumato.models.load import Architecture as Architecture
    from sfumato.models.load import LoadedModel as LoadedModel
    from sfumato.models.load import load_model as load_model
    from sfumato.models.load import save_model as save_model
    from sfumato.models.lora import Lora as Lora
    from sfumato.models.lstm import Lstm as Lstm
    from sfumato.models.private_tokenizer import PrivateTokenizer as PrivateTokenizer
    from sfumato.models.private_tokenizer import learn_privately as learn_privately
    from sfumato.models.private_tokenizer import load_private as load_private
    from sfumato.models.private_tokenizer import save_private as save_private
    from sfumato.models.tagger_policy import TaggerPolicy as TaggerPolicy
    from sfumato.models.tagging import find_spans as find_spans
    from sfumato.models.tokenizer import Tokenizer as Tokenizer
    from sfumato.models.tokenizer import load_tokenizer as load_tokenizer
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.models.adapters": "Adapters",
            "sfumato.models.bag_of_words": "BagOfWords",
            "sfumato.models.bilstm": "BiLstm",
            "sfumato.models.bpe": "default_tokenizer train_bpe train_on_public",
            "sfumato.models.cnn": "Cnn",
            "sfumato.models.generate": "TokenSampling continue_text",
            "sfumato.models.gpt_small": "GptSmall",
            "sfumato.models.learned": "Bpe TokenizerKind WordPiece",
            "sfumato.models.load": "Architecture LoadedModel load_model save_model",
            "sfumato.models.lora": "Lora",
            "sfumato.models.lstm": "Lstm",
            "sfumato.models.private_tokenizer": (
                "PrivateTokenizer learn_privately load_private save_private"
            ),
            "sfumato.models.tagger_policy": "TaggerPolicy",
            "sfumato.models.tagging": "find_spans",
            "sfumato.models.tokenizer": "Tokenizer load_tokenizer",
        },
    )

__all__ = [
    "Adapters",
    "Architecture",
    "BagOfWords",
    "BiLstm",
    "Bpe",
    "Cnn",
    "GptSmall",
    "LoadedModel",
    "Lora",
    "Lstm",
    "PrivateTokenizer",
    "TaggerPolicy",
    "TokenSampling",
    "Tokenizer",
    "TokenizerKind",
    "WordPiece",
    "continue_text",
    "default_tokenizer",
    "find_spans",
    "learn_privately",
    "load_model",
    "load_private",
    "load_tokenizer",
    "save_model",
    "save_private",
    "train_bpe",
    "train_on_public",
]
