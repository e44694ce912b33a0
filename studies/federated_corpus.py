"""The corpus of ``federated.toml``: generated dialogues of 500 authors, and a public tokenizer.

    python studies/federated_corpus.py FOLDER

Dialogues of customers with a service desk, by ``sfumato data customersim``; everybody in them is
invented, and so are the authors: each has two dialogues, both of one country, and 100 are of each
of five countries. ``choose.jsonl`` is for whoever chooses settings, ``test.jsonl`` is measured on;
no model is trained on either. The tokenizer is learned from other dialogues, which count as public.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from sfumato.models.bpe import train_bpe
from sfumato.verbs.data import make_dialogues

AUTHORS, EACH, BESIDE, TOKENS = 500, 2, 300, 400
COUNTRIES = ("DE", "FR", "GB", "IN", "US")


def main() -> None:
    """Write the files, and say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="where the files are written")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "train": deal(dialogues(AUTHORS * EACH, seed=1)),
        "choose": dialogues(BESIDE, seed=2),
        "test": dialogues(BESIDE, seed=3),
    }
    for name, some in files.items():
        lines = "".join(json.dumps(one) + "\n" for one in some)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        print(name, len(some))
    public = [one["text"] for one in dialogues(BESIDE, seed=4)]
    tokenizer = train_bpe(public, public=True, size=TOKENS)
    tokenizer.backend.save_pretrained(folder / "tokenizer")


def dialogues(count: int, *, seed: int) -> list[dict[str, Any]]:
    """Generated dialogues, equally many of each country, in the order of the generator."""
    each = count // len(COUNTRIES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dialogues.jsonl"
        make_dialogues(path, count=5 * count, seed=seed)
        made = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    left = dict.fromkeys(COUNTRIES, each)
    chosen = []
    for one in made:
        if left[one["label"]]:
            left[one["label"]] -= 1
            own = {"author": f"writer of {one['id']}"}
            chosen.append(own | {key: one[key] for key in ("id", "text", "label")})
    if any(left.values()):
        raise SystemExit(f"too few dialogues of a country: {left}")
    return chosen


def deal(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each author has the next few dialogues of one country."""
    waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
    dealt: list[dict[str, Any]] = []
    for one in made:
        own = waiting[one["label"]]
        own.append(one)
        if len(own) == EACH:
            author = f"author {len(dealt) // EACH:03d}"
            dealt += [few | {"author": author} for few in own]
            own.clear()
    return dealt


if __name__ == "__main__":
    main()
