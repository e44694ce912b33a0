"""The texts of ``equal-leakage.toml``: dialogues with planted secrets, others like them, a pool.

    python studies/equal_leakage_corpus.py ../shared/data/customersim FOLDER

writes into FOLDER

- ``train.jsonl``, dialogues drawn from CustomerSim's training set with secrets planted in them, and
  ``train.jsonl.canaries.json``, which lists them;
- ``others.jsonl``, further dialogues from there with the same secrets planted in the same way: what
  tells the two files apart are the dialogues, and not how likely a secret looks to any model;
- ``test.jsonl``, dialogues of the test set as they are, for the perplexity;
- ``pool.jsonl``, public text for methods that choose from it: generated dialogues (``sfumato data
  customersim``) of a seed that nothing else uses. Their sentences are the package's own, and no
  sentence of CustomerSim was looked at;
- ``same-kind.jsonl``, the best pool that there could be: CustomerSim's validation set, which comes
  from the same templates, with other names and numbers.

All draws are public: secrets are made up, and belong to nobody.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from itertools import count, islice
from pathlib import Path

from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary, draw_secret
from sfumato.corpora.customersim import generate_customersim
from sfumato.corpora.planting import plant_in_file
from sfumato.files.layout import Layout
from sfumato.files.source import Source

DOCUMENTS, TESTED, IN_POOL = 300, 300, 600
SECRETS, DIGITS, REPETITIONS = 24, 6, 15
TEMPLATE = "My ID is {}."
SEED, POOL_SEED = 21, 815


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("source", type=Path, help="the folder of CustomerSim")
    parser.add_argument("folder", type=Path, help="where to write; it is made")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    texts = read(given.source / "train.jsonl.gz")
    random.Random(SEED).shuffle(texts)
    halves = {"train": texts[:DOCUMENTS], "others": texts[DOCUMENTS : 2 * DOCUMENTS]}
    secrets = draw_secrets(SECRETS)
    for number, (name, some) in enumerate(halves.items()):
        plant(some, secrets, given.folder / f"{name}.jsonl", number)
    write(read(given.source / "test.jsonl.gz")[:TESTED], given.folder / "test.jsonl")
    write(read(given.source / "valid.jsonl.gz")[:IN_POOL], given.folder / "same-kind.jsonl")
    made = generate_customersim(IN_POOL, Randomness.reproducible(POOL_SEED))
    write([one.document.text for one in made], given.folder / "pool.jsonl")


def read(path: Path) -> list[str]:
    """The dialogues of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def write(texts: list[str], path: Path) -> None:
    """One record for each text."""
    lines = (json.dumps({"text": one}, ensure_ascii=False) + "\n" for one in texts)
    path.write_text("".join(lines), "utf-8")


def draw_secrets(wanted: int) -> list[str]:
    """So many different ones."""
    randomness = Randomness.reproducible(SEED)
    drawn = (draw_secret(DIGITS, randomness.stream(place)) for place in count(1))
    found: dict[str, None] = {}
    while len(found) < wanted:
        found[next(drawn)] = None
    return list(islice(found, wanted))


def plant(
    texts: list[str], secrets: list[str], path: Path, number: int, *, times: int = REPETITIONS
) -> None:
    """Write the texts with the secrets in them, and which they are beside it."""
    plain = path.with_name(f"plain-{path.name}")
    write(texts, plain)
    plant_in_file(
        Source.of(plain, Layout(field="text")),
        path,
        [Canary(TEMPLATE, secret) for secret in secrets],
        [times] * len(secrets),
        Randomness.reproducible(SEED + 1 + number),
        overwrite=True,
    )
    plain.unlink()


if __name__ == "__main__":
    main()
