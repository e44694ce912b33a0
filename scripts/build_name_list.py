"""Build the list of names that the ``person`` recognizer of the policy ``pii`` reads.

Usage: python scripts/build_name_list.py CENSUS VOCABULARY TEXT...

``CENSUS`` is a folder with ``dist.female.first``, ``dist.male.first`` and ``dist.all.last`` of the
1990 census of the United States (a work of its government, in the public domain). The Census
Bureau offers them; the source archive of the PyPI package ``names`` 0.3.0 has them too.
``VOCABULARY`` is a list of words, most frequent first (we took that of GloVe 6B, public domain).
``TEXT`` are files of running English (.gz or plain; we took WikiText-2 and IMDb reviews): only how
often a word begins with a capital is counted there, no word is taken from them.

Given names of other languages stand in ``given_names.txt`` beside this script.
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from textwrap import fill

import regex

from sfumato.policies.pii.names import plain, sections

BY_HAND = Path(__file__).with_name("given_names.txt")
TARGET = Path(__file__).parents[1] / "src" / "sfumato" / "policies" / "pii" / "names.txt"
SURNAMES = 8_000
WORDS = 6_000
COMMON_FEMALE, COMMON_MALE = 2_000, 1_000  # rarer given names count only in company
SMALL_LETTERS = 0.05  # of all mentions: from here on a name is an ordinary word as well
ORDINARY, CERTAIN = 0.40, 0.97  # from here on a word is ordinary, even if it is a name as well
SEEN = 3

HEADER = """\
# Names of people, for the policy "pii". Built by scripts/build_name_list.py; do not edit.
# Given names and surnames: 1990 census of the United States, public domain. Given names of other
# languages: written by the authors of sfumato. Words: the most frequent of GloVe 6B (Pennington,
# Socher and Manning 2014; public domain, PDDL 1.0) that are nearly always in small letters.
# All in small letters without accents. "alone": a given name wherever it stands with a capital;
# "paired": one only beside a surname or an initial, being a word, a place or a rarity too.
"""


def main(census: Path, vocabulary: Path, texts: list[Path]) -> None:
    """Write the list, in sections."""
    share = _small_letters(texts)
    female, male = (list(_column(census / f"dist.{sex}.first")) for sex in ("female", "male"))
    by_hand = sections(BY_HAND.read_text(encoding="utf-8"))
    known = set(by_hand.pop("Known otherwise"))
    others = {plain(name) for names in by_hand.values() for name in names}
    common = {*female[:COMMON_FEMALE], *male[:COMMON_MALE], *others}
    given = {name for name in (*female, *male, *others) if len(name) > 1}
    alone = {
        name
        for name in common - known
        if len(name) > 2 and share.get(name, 0.0) < SMALL_LETTERS and "-" not in name
    }
    surnames = {
        name
        for name in islice(_column(census / "dist.all.last"), SURNAMES)
        if len(name) > 2 and share.get(name, 0.0) < SMALL_LETTERS
    }
    names = {*given, *islice(_column(census / "dist.all.last"), SURNAMES)}
    words = {
        word
        for word in islice(_column(vocabulary), WORDS)
        if word.isalpha() and share.get(word, 0.0) >= (CERTAIN if word in names else ORDINARY)
    }
    _write(alone=alone, paired=given - alone, surnames=surnames, words=words)


def _column(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield plain(line.split()[0])


def _small_letters(texts: Iterable[Path]) -> dict[str, float]:
    """Of every word seen often enough: which share of its mentions is in small letters."""
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for path in texts:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as file:
            for line in file:
                for word in regex.findall(r"\p{L}++", line):
                    counts = small if word.islower() else capital
                    counts[word.lower()] += 1
    return {word: count / (count + capital[word]) for word, count in small.items() if count >= SEEN}


def _write(**names: set[str]) -> None:
    with TARGET.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        for title, entries in names.items():
            lines = fill(" ".join(sorted(entries)), 100, break_on_hyphens=False)
            file.write(f"[{title}]\n{lines}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
