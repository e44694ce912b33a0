"""The tokenizer that lies in a folder, as Hugging Face writes it."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.checks import extra
from sfumato.core.errors import MissingModel
from sfumato.core.pretrained import read_tokenizer
from sfumato.tokenizers.tokenizer import Tokenizer

# Any of these makes a tokenizer.
FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read a tokenizer from a folder; nothing is fetched and no code of the folder is run."""
    if not folder.is_dir():
        raise MissingModel(f"there is no folder {folder} to load a tokenizer from")
    if not has_tokenizer(folder):
        raise MissingModel(f"{folder} holds no tokenizer ({', '.join(FILES)})")
    extra("transformers", needed_for="a tokenizer", extra="train")
    return Tokenizer(read_tokenizer(folder), folder.name)


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds a tokenizer of its own."""
    return any((folder / name).is_file() for name in FILES)
