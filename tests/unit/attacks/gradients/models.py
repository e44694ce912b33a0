"""Small models with random weights, in the shapes that attacks on gradients tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer as Backend
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from sfumato.attacks.model_target import ModelTarget
from sfumato.models.load import LoadedModel, slice_losses
from sfumato.models.tokenizer import Tokenizer
from sfumato.text.document import Document

TEXT = """
a an and any ask at be but by call can cat day did do dog eat end far few for from get go good had
has her his home house how if in into is it job just know late left let like long look man many
may more most much must name near new next no not now of off old on one only or other our out over
own part people place read road room run said same saw say school see set she show side so some
still stop such take tell than that the their them then there they thing this time to too town
tree try two under until up us very walk want war was water way we week well went were what when
where which while who why will with work world would year you young
"""
WORDS = TEXT.split()
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
CLASSES = ("no", "yes")
CONTEXT = 24


def _backend() -> Backend:
    vocabulary = {word: place for place, word in enumerate((*SPECIAL, *WORDS))}
    backend = Backend(WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = Whitespace()
    return backend


@cache
def framed_tokenizer() -> Tokenizer:
    """Whole words, with [CLS] before and [SEP] after a text."""
    backend = _backend()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
    )
    return Tokenizer(made)


@cache
def plain_tokenizer() -> Tokenizer:
    """Whole words, with one token for the beginning and the end of a text."""
    made = PreTrainedTokenizerFast(
        tokenizer_object=_backend(), eos_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]"
    )
    return Tokenizer(made)


def encoder(seed: int = 1, **settings: Any) -> ModelTarget:
    """A classifier in BERT's shape: normalized after every part, learned positions."""
    from transformers import BertConfig, BertForSequenceClassification

    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        intermediate_size=128,
        max_position_embeddings=CONTEXT,
        **shape | settings,
    )
    config.num_labels = len(CLASSES)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = BertForSequenceClassification(config)
    return ModelTarget(LoadedModel(network, framed_tokenizer(), CONTEXT, CLASSES), "digest")


def decoder(seed: int = 1, **settings: Any) -> ModelTarget:
    """A language model in GPT-2's shape: normalized before every part, tied output."""
    from transformers import GPT2Config, GPT2LMHeadModel

    shape = {"n_embd": 64, "n_layer": 2, "n_head": 4}
    config = GPT2Config(
        vocab_size=len(SPECIAL) + len(WORDS),
        n_positions=CONTEXT,
        bos_token_id=2,
        eos_token_id=2,
        **shape | settings,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = GPT2LMHeadModel(config)
    slice_losses(network)
    return ModelTarget(LoadedModel(network, plain_tokenizer(), CONTEXT), "digest")


def turned_decoder(seed: int = 1) -> ModelTarget:
    """A language model in Llama's shape: positions are turned into queries and keys."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        bos_token_id=2,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = LlamaForCausalLM(config)
    return ModelTarget(LoadedModel(network, plain_tokenizer(), CONTEXT), "digest")


def sentences(count: int, *, length: int = 8, seed: int = 5) -> list[Document]:
    """Made-up sentences of about so many words, each with a class."""
    drawn = torch.Generator().manual_seed(seed)
    made = []
    for place in range(count):
        words = length - 2 + int(torch.randint(5, (1,), generator=drawn))
        places: Sequence[int] = torch.randint(len(WORDS), (words,), generator=drawn).tolist()
        text = " ".join(WORDS[one] for one in places)
        made.append(Document(text, labels=(CLASSES[place % 2],)))
    return made
