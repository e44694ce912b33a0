"""Made-up documents that are in a corpus or not, each by a fair coin, for one-run audits.

Without knowing the coins, one can only learn from a trained model which of the documents were in
its corpus. So the number of right guesses about the coins bounds epsilon from below (Steinke, Nasr
and Jagielski 2023). The documents are words drawn at random from a public list: they belong to
nobody, and resemble neither the rest of the corpus nor each other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.checks import MOST_DOCUMENTS, at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import reading, refuse_existing, write_whole
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.corpora.planting import add_documents, refuse_adding
from sfumato.files.source import Source
from sfumato.text.document import Document

SCHEMA = 1
SUFFIX = ".coins.json"
# With fewer words documents would be too similar; more would not fit into a small context.
WORDS = 12


@dataclass(frozen=True)
class Coins:
    """Documents, and whether each is in the corpus."""

    texts: tuple[str, ...]
    included: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.included):
            raise InvalidArgument("every document needs one coin")
        if len(set(self.texts)) != len(self.texts):
            raise InvalidArgument("the documents of an audit must differ from each other")

    def __len__(self) -> int:
        return len(self.texts)

    def as_dict(self) -> dict[str, Any]:
        """For the file; everything in it is made up."""
        documents = zip(self.texts, self.included, strict=True)
        return {
            "schema": SCHEMA,
            "documents": [{"text": text, "included": inside} for text, inside in documents],
        }


def toss(count: int, words: Sequence[str], randomness: Randomness) -> Coins:
    """Make documents of random words and toss a coin for each."""
    at_least("count", count, 1, MOST_DOCUMENTS)
    if len(set(words)) < at_least("words", len(words), 100):
        raise InvalidArgument("the words to draw from must differ from each other")
    drawn = randomness.stream(0).integers(len(words), count * WORDS).reshape(count, WORDS)
    texts = [" ".join(words[place] for place in row) for row in drawn.tolist()]
    coins = randomness.stream(1).integers(2, count).tolist()
    return Coins(tuple(texts), tuple(bool(coin) for coin in coins))


def mix_in(source: Source, target: Path, coins: Coins, *, overwrite: bool = False) -> None:
    """Write the corpus with the included documents at its end, and the coins beside it."""
    refuse_adding(source, target)
    beside = target.with_name(target.name + SUFFIX)
    for path in (target, beside):
        refuse_existing(path, overwrite=overwrite)
    added = [
        Document(text, author=f"coin {number}")  # each with its own author
        for number, (text, inside) in enumerate(zip(coins.texts, coins.included, strict=True))
        if inside
    ]
    add_documents(source, target, added, overwrite=overwrite)
    write_whole(beside, (json.dumps(coins.as_dict(), indent=2, ensure_ascii=False) + "\n").encode())


def read_coins(path: Path) -> Coins:
    """What ``mix_in`` has written beside a corpus."""
    content = read_object(path, "a list of coins")
    with reading(path, "a list of coins"):
        documents = content["documents"]
        coins = Coins(
            tuple(one["text"] for one in documents),
            tuple(one["included"] for one in documents),
        )
        # The text "false" would count as true, and every bound would be wrong.
        if {type(one) for one in coins.texts} - {str} or {type(one) for one in coins.included} - {
            bool
        }:
            raise TypeError
    if coins.texts and content.get("schema") == SCHEMA:
        return coins
    problem = "it holds no documents" if not coins.texts else "another version wrote it"
    raise BadInput(f"cannot read {path}: {problem}")
