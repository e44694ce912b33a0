"""The corpus of ``groups.toml``: SST-2 in four groups, by a public rule and the label.

    python studies/groups_corpus.py ../shared/data/sst2/train.tsv FOLDER

SST-2's training set has sentences and many parts of them. Here only texts that are part of no other
one are left, so that nothing is in both sets and texts count as independent. A text is *negated* if
one of a few words says no (``NEGATION``); with its label that makes four groups: ``plain 0``,
``plain 1``, ``negated 0`` and ``negated 1``. Most negated texts are negative, so whoever judges by
the word alone is wrong about the rest of them: a small group that is hard.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import Counter
from pathlib import Path

NEGATION = re.compile(
    r"\b(not|no|never|nothing|nobody|none|neither|nor|without|hardly|barely|cannot)\b|n't\b"
)
TRAINED, SEED = 2048, 11


def main() -> None:
    """Write ``train.tsv`` and ``test.tsv``, and say how large the groups are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("source", type=Path, help="train.tsv of SST-2")
    parser.add_argument("folder", type=Path, help="where both files are written")
    given = parser.parse_args()
    with given.source.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = {row["sentence"].strip(): row["label"] for row in rows}
    left = whole_texts(texts)
    random.Random(SEED).shuffle(left)  # a public split
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, some in (("train", left[:TRAINED]), ("test", left[TRAINED:])):
        lines = (f"{text}\t{texts[text]}\t{group(text, texts[text])}\n" for text in some)
        path = given.folder / f"{name}.tsv"
        path.write_text("sentence\tlabel\tgroup\n" + "".join(lines), encoding="utf-8")
        sizes = Counter(group(text, texts[text]) for text in some)
        print(name, len(some), dict(sorted(sizes.items())))


def whole_texts(texts: dict[str, str]) -> list[str]:
    """Those that are part of no other one, in a fixed order."""
    so_far, left = "", []
    for text in sorted(texts, key=lambda one: (-len(one), one)):
        if f" {text} " not in so_far:
            left.append(text)
            so_far += f" {text} \n"
    return left


def group(text: str, label: str) -> str:
    """The group of a text."""
    return f"{'negated' if NEGATION.search(text) else 'plain'} {label}"


if __name__ == "__main__":
    main()
