"""Made-up documents that are in a corpus or not, each by a fair coin: what one-run audits need.

Whoever trains on the corpus cannot know which of the documents are in it without having learnt it
from the model. So the number of right guesses about the coins bounds epsilon from below (Steinke,
Nasr and Jagielski 2023). The documents are words drawn at random from a public list: nobody's
words, unlike everything else in the corpus, and unlike each other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.files import refuse_existing, write_whole
from sfumato.core.randomness import Randomness
from sfumato.corpora.edits import Edited
from sfumato.corpora.formats.choose import of_path
from sfumato.corpora.source import Source
from sfumato.corpora.writing import written

SCHEMA = 1
SUFFIX = ".coins.json"
FORMATS = ("txt", "jsonl")
# Fewer words would be guessed from each other; more would not fit into a small context.
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
        """For the file; all of it is made up."""
        documents = zip(self.texts, self.included, strict=True)
        return {
            "schema": SCHEMA,
            "documents": [{"text": text, "included": inside} for text, inside in documents],
        }


def toss(count: int, words: Sequence[str], randomness: Randomness) -> Coins:
    """Make documents of random words and toss a coin for each."""
    at_least("count", count, 1)
    if len(set(words)) < at_least("words", len(words), 100):
        raise InvalidArgument("the words to draw from must differ from each other")
    drawn = randomness.stream(0).integers(len(words), count * WORDS).reshape(count, WORDS)
    texts = [" ".join(words[place] for place in row) for row in drawn.tolist()]
    coins = randomness.stream(1).integers(2, count).tolist()
    return Coins(tuple(texts), tuple(bool(coin) for coin in coins))


def mix_in(source: Source, target: Path, coins: Coins, *, overwrite: bool = False) -> None:
    """Write the corpus with the included documents at its end, and the coins beside it.

    Where a document stands means nothing in training, which draws its records at random.
    """
    _refuse(source, target)
    beside = target.with_name(target.name + SUFFIX)
    for path in (target, beside):
        refuse_existing(path, overwrite=overwrite)
    last = b"\n"
    with source.opened() as (chunks, _), written(target, overwrite=overwrite) as output:
        for chunk in chunks:
            content = chunk.rewritten([Edited(one.text) for one in chunk.documents()])
            output.write(content)
            last = content[-1:] or last
        output.write(b"" if last == b"\n" else b"\n")
        for number, (text, inside) in enumerate(zip(coins.texts, coins.included, strict=True)):
            if inside:
                output.write(_line(text, number, source))
    write_whole(beside, (json.dumps(coins.as_dict(), indent=2, ensure_ascii=False) + "\n").encode())


def _refuse(source: Source, target: Path) -> None:
    """Formats to which a line can simply be added."""
    if source.path is None or source.format.name not in FORMATS or source.layout.whole_file:
        raise InvalidArgument(
            "documents are added to jsonl, or to a text file with a document per line, on disk"
        )
    if source.layout.encoding.lower().replace("_", "-") not in {"utf-8", "utf8", "utf-8-sig"}:
        raise InvalidArgument("documents are added to files in utf-8 only")
    wanted = of_path(target)
    if wanted is None or wanted.name != source.format.name:
        raise InvalidArgument(f"the input is {source.format.name} but {target.name} is not")
    if target.exists() and target.samefile(source.path):
        raise InvalidArgument(f"{target} is the input; write to another file")


def _line(text: str, number: int, source: Source) -> bytes:
    """A record of its own, by an author of its own."""
    if source.format.name == "txt":
        return f"{text}\n".encode()
    layout = source.layout
    record = {layout.field: text}
    if layout.author_field is not None:
        record[layout.author_field] = f"coin {number}"
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()


def read_coins(path: Path) -> Coins:
    """What ``mix_in`` has written beside a corpus."""
    try:
        content = json.loads(path.read_bytes())
        documents = content["documents"]
        coins = Coins(
            tuple(str(one["text"]) for one in documents),
            tuple(bool(one["included"]) for one in documents),
        )
    except OSError as error:
        problem = error.strerror or "reading failed"
    except (ValueError, KeyError, TypeError):
        problem = "it is not what 'sfumato data coins' writes"
    else:
        if coins.texts and content.get("schema") == SCHEMA:
            return coins
        problem = "it holds no documents" if not coins.texts else "another version wrote it"
    raise BadInput(f"cannot read {path}: {problem}")
