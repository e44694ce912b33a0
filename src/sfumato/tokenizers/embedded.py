"""The tokenizer that comes with the package: 8,192 tokens learned from GloVe's list of words.

Built by ``scripts/build_default_tokenizer.py``; attribution and terms stand beside the data. It
is English and knows nothing of any text a user has, so a model trained with it from scratch
carries no private vocabulary. Other scripts are spelled in bytes: longer, but exact.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sfumato.tokenizers.bpe import Merge, as_tokenizer, assembled
from sfumato.tokenizers.tokenizer import Tokenizer

NAME = "glove-bpe-8k"
MERGES = Path(__file__).parent / "data" / f"{NAME}.merges.txt"


@cache
def default_tokenizer() -> Tokenizer:
    """The embedded tokenizer, put together once per process."""
    return as_tokenizer(assembled(read_merges(MERGES)), name=NAME)


def read_merges(path: Path) -> list[Merge]:
    """One merge per line, the most frequent first; neither part can hold a space."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" ") for line in lines)
    return [(left, right) for left, right in pairs]


def write_merges(merges: list[Merge], path: Path) -> None:
    """The form that ``read_merges`` reads."""
    path.write_text("".join(f"{left} {right}\n" for left, right in merges), encoding="utf-8")
