"""Tiny models of the architectures people bring, written to a folder in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    RobertaConfig,
    RobertaForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
)

from sfumato.models.autoencoder import Shape, save_autoencoder
from sfumato.models.autoencoder_network import AutoencoderNetwork
from sfumato.models.bpe import default_tokenizer

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "film",
    "was",
    "good",
    "bad",
    "##ly",
    "a",
]
SAID = ("the", "film", "was", "good", "bad", "a", ".")
_BERT: dict[str, Any] = {
    "vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "max_position_embeddings": 24,
}  # fmt: skip


def gpt2(dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    config = GPT2Config(
        vocab_size=8192, n_positions=32, n_embd=16, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model: PreTrainedModel = GPT2LMHeadModel(config)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype)
    return model


def llama(*, tied: bool = False) -> PreTrainedModel:
    config = LlamaConfig(
        vocab_size=8192, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=48,
        tie_word_embeddings=tied, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def t5(*, size: int = 8192, tied: bool = True, **more: Any) -> PreTrainedModel:
    sizes: dict[str, Any] = dict(
        vocab_size=size, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, dropout_rate=0.0,
        tie_word_embeddings=tied, pad_token_id=0, eos_token_id=0, decoder_start_token_id=0, **more,
    )  # fmt: skip
    return T5ForConditionalGeneration(T5Config(**sizes))


def bert(kind: type[Any] = BertModel, **more: Any) -> PreTrainedModel:
    model: PreTrainedModel = kind(BertConfig(**_BERT, **more))
    return model


def masked_bert() -> PreTrainedModel:
    return bert(BertForMaskedLM)


def bert_classifier(names: list[str]) -> PreTrainedModel:
    return bert(BertForSequenceClassification, id2label=dict(enumerate(names)))


def roberta() -> PreTrainedModel:
    return RobertaForSequenceClassification(RobertaConfig(**_BERT, pad_token_id=1))


def autoencoder(folder: Path) -> Path:
    """An untrained autoencoder whose texts differ from each other."""
    torch.manual_seed(11)
    network = AutoencoderNetwork(words=len(SAID), embedding=6, hidden=8, size=4)
    for parameter in network.parameters():
        parameter.data *= 4
    shape = Shape(size=4, embedding=6, hidden=8, tokens=5, clip_norm=1.0, clip_width=0.8)
    save_autoencoder(folder, network, SAID, shape)
    return folder


def with_our_tokenizer(model: PreTrainedModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    default_tokenizer().backend.save_pretrained(folder)
    return folder


def with_word_pieces(model: PreTrainedModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    return folder
