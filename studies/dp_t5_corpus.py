"""Writes what ``dp-t5.toml`` reads: beginnings of paragraphs, some repeated, and a tokenizer.

    python studies/dp_t5_corpus.py FOLDER --wikitext ../shared/data/wikitext-2

A record is the first 32 characters of a paragraph of WikiText-2, about 16 tokens. ``train.jsonl``
holds 60 of the training part: 20 once, 20 three times, 20 ten times. ``others.jsonl`` are the next
60, which no model is trained on, ``test.jsonl`` 60 of the test part. The public tokenizer is
learned from the validation part.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from sfumato.corpora.wikitext import read_wikitext
from sfumato.models.bpe import train_bpe

# How many paragraphs stand there how often.
COPIES = {1: 20, 3: 20, 10: 20}
COUNT = sum(COPIES.values())
# Shorter paragraphs are headings and remarks.
SHORTEST = 120
CHARACTERS = 32
TOKENS = 512


def main() -> None:
    """Write all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("--wikitext", type=Path, required=True, help="train, valid, test .raw.gz")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    long = [one for one in paragraphs(given.wikitext, "train") if len(one) > SHORTEST]
    first, repeated = 0, []
    for copies, count in COPIES.items():
        repeated += [one for one in long[first : first + count] for _ in range(copies)]
        first += count
    write(given.folder / "train.jsonl", repeated)
    write(given.folder / "others.jsonl", long[first : first + COUNT])
    tested = (one for one in paragraphs(given.wikitext, "test") if len(one) > SHORTEST)
    write(given.folder / "test.jsonl", islice(tested, COUNT))
    public = train_bpe(paragraphs(given.wikitext, "valid"), public=True, size=TOKENS)
    public.backend.save_pretrained(given.folder / "tokenizer")


def paragraphs(folder: Path, part: str) -> list[str]:
    """The paragraphs of a part."""
    path = folder / f"{part}.raw.gz"
    return [one.text for one in read_wikitext(path, record="paragraph")]


def write(path: Path, texts: Iterable[str]) -> None:
    """One JSON object a line."""
    lines = (json.dumps({"text": one[:CHARACTERS]}) + "\n" for one in texts)
    path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
