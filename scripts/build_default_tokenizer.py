"""Build the embedded tokenizer from the embedded list of GloVe words.

Usage: python scripts/build_default_tokenizer.py

The words stand in order of frequency; how often each occurs is not known, so it is taken from
Zipf's law, count ∝ 1 / (rank + 2.7). A word is shown as running text shows it: mostly in small
letters after a space, sometimes with a capital, seldom in capitals. Marks that follow each other
in English prose are added by hand, because the list holds words only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import repeat

from sfumato.models.bpe import MERGES, SIZE, Merge, learn_merges, write_merges
from sfumato.vectors.load import default_space

# The least frequent word is shown about this often, which decides nothing but the rounding.
LEAST = 1
SHIFT = 2.7
# How a word is spelled, and in what share of its occurrences.
SPELLINGS = (
    (" ", str.lower, 0.80),
    (" ", str.capitalize, 0.13),
    ("", str.capitalize, 0.05),
    (" ", str.upper, 0.02),
)
# Occurrences per million words.
MARKS = {
    ",": 60_000, ".": 55_000, "'s": 12_000, "n't": 3_000, "'t": 3_000, "'re": 1_000, "'ve": 900,
    "'ll": 900, "'d": 900, "'m": 1_500, " (": 6_000, ")": 4_000, "),": 1_500, ").": 1_500,
    ' "': 6_000, '"': 3_000, ',"': 2_500, '."': 2_500, '?"': 500, '!"': 300, "?": 2_500,
    "!": 1_500, ":": 3_000, ";": 1_500, "...": 1_200, " -": 2_500, " --": 1_000, " –": 1_000,
    " —": 800, "’s": 3_000, "’t": 800, "’": 1_000, " “": 1_000, "”": 600, ".”": 500, ",”": 500,
    " $": 1_500, "%": 1_200, " £": 200, " €": 200, " &": 800, " @": 400, "#": 200, "://": 300,
    "://www": 100, ".com": 300, ".org": 100, "\n\n": 2_000, "  ": 1_000, "    ": 600, " =": 300,
}  # fmt: skip


def main() -> None:
    """Write the merges."""
    merges = default_merges()
    MERGES.parent.mkdir(exist_ok=True)
    write_merges(merges, MERGES)
    print(f"{len(merges)} merges, {MERGES.stat().st_size / 1e3:.0f} kB")


def default_merges() -> list[Merge]:
    """What byte-pair encoding learns from the list."""
    backend = learn_merges(_occurrences(default_space().words), size=SIZE)
    return [(left, right) for left, right in json.loads(backend.to_str())["model"]["merges"]]


def _occurrences(words: Sequence[str]) -> Iterator[str]:
    """Every word and mark as often as it is taken to occur."""
    counts = [LEAST * (len(words) + SHIFT) / (rank + SHIFT) for rank in range(len(words))]
    for word, count in zip(words, counts, strict=True):
        for before, spell, share in SPELLINGS:
            yield from repeat(before + spell(word), round(share * count))
    for mark, count in MARKS.items():
        yield from repeat(mark, round(count * sum(counts) / 1e6))


if __name__ == "__main__":
    main()
