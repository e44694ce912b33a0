"""A masked language model of a few thousand weights that has learned a few pairs of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from sfumato.vectors.space import Space

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def trained_masked(
    folder: Path, space: Space, pairs: Sequence[tuple[str, str]], steps: int = 60
) -> Path:
    """Learn to tell the second word of each pair from the first; saved in a folder."""
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *space.words])}
    backend = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    backend.normalizer = Lowercase()
    backend.pre_tokenizer = Whitespace()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    torch.manual_seed(3)
    network = BertForMaskedLM(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=130,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    rows = torch.tensor([[2, vocabulary[first], 4, 3] for first, _ in pairs])
    wanted = torch.tensor([[-100, -100, vocabulary[second], -100] for _, second in pairs])
    optimizer = torch.optim.Adam(network.parameters(), 0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        network(input_ids=rows, labels=wanted).loss.backward()
        optimizer.step()
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
