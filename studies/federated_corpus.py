"""The corpus of ``federated.toml``: film reviews, dealt to 1,000 invented authors.

    python studies/federated_corpus.py ../shared/data/imdb-15k FOLDER

The reviews have no author, so authors are invented: each likes a share of all films that is drawn
from Beta(½, ½), so most of them say almost only good or almost only bad things, and all have ten
reviews. Of the reviews in the folder's other file the first 1,000 are for whoever chooses settings
(``choose.jsonl``), and the rest is measured on (``test.jsonl``).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from pathlib import Path

AUTHORS, TEXTS, CHOOSE, SEED = 1000, 10, 1000, 29

Review = dict[str, str]


def main() -> None:
    """Write ``train.jsonl``, ``choose.jsonl`` and ``test.jsonl``, and say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("source", type=Path, help="the folder of the reviews")
    parser.add_argument("folder", type=Path, help="where the files are written")
    given = parser.parse_args()
    private, public = (read(given.source / f"{name}.jsonl.gz") for name in ("train", "test"))
    coins = random.Random(SEED)  # a public deal
    coins.shuffle(private)
    coins.shuffle(public)
    files = {"train": deal(private, coins), "choose": public[:CHOOSE], "test": public[CHOOSE:]}
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, reviews in files.items():
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in reviews)
        (given.folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        print(name, len(reviews), dict(sorted(Counter(one["label"] for one in reviews).items())))


def read(path: Path) -> list[Review]:
    """Reviews with their labels as text."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    return [{"text": one["text"], "label": str(one["label"])} for one in found]


def deal(reviews: list[Review], coins: random.Random) -> list[Review]:
    """Reviews with an author; if there is none left of what an author says, the other is taken."""
    sides = {label: [one for one in reviews if one["label"] == label] for label in ("0", "1")}
    dealt = []
    for number in range(AUTHORS):
        likes = coins.betavariate(0.5, 0.5)
        for _ in range(TEXTS):
            wanted = "1" if coins.random() < likes else "0"
            side = sides[wanted] or sides["0" if wanted == "1" else "1"]
            dealt.append(side.pop() | {"author": f"author {number:03d}"})
    return dealt


if __name__ == "__main__":
    main()
