"""The tokenizer that lies in a folder, as Hugging Face writes it."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, MissingModel
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
    from transformers import AutoTokenizer

    try:
        backend = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # each kind of tokenizer has errors of its own
        problem = type(error).__name__
    else:
        return Tokenizer(backend, folder.name)
    raise BadInput(f"the tokenizer in {folder} cannot be read ({problem})")


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds a tokenizer of its own."""
    return any((folder / name).is_file() for name in FILES)
