"""The texts of ``equal-leakage-sst2.toml``: sentences with planted secrets, others, and pools.

    python studies/equal_leakage_sst2.py RESOURCES/data FOLDER

RESOURCES/data has SST-2 (sst2/train.tsv, sst2/test.tsv) and reviews of IMDb
(imdb-15k/train.jsonl.gz). FOLDER gets

- ``train.jsonl``, sentences of SST-2 with secrets planted beside them, and
  ``train.jsonl.canaries.json``, which lists them; ``others.jsonl``, further sentences with the same
  secrets planted in the same way; ``test.jsonl``, sentences of the test file as they are;
- ``search.jsonl`` with its list of secrets and ``search-test.jsonl``, sentences that are in none of
  these files: passes and rates are searched on them (``equal-leakage-sst2-search.toml``);
- ``same-kind.jsonl``, a pool of further sentences of SST-2, the best that there could be, and
  ``pool.jsonl``, sentences of reviews of IMDb, written like SST-2's in small letters;
- ``tokenizer`` and ``start/model``, a vocabulary and the network of the study after reading
  sentences of IMDb: public, like the pools.

SST-2's training file has parts of sentences, too, and these overlap: only what ends in a full stop
is taken, and nothing with which something else that is taken ends. (A few sentences are still
beginnings of others.) Of the pool of IMDb a third was also read by the model. All draws are public.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from equal_leakage_corpus import REPETITIONS, SECRETS, draw_secrets, plant, write
from public_start import begin

DOCUMENTS, TESTED, IN_POOL = 1500, 700, 1500
SEARCHED, SEARCH_TESTED = 800, 300
FEWEST, MOST = 8, 40  # words of a sentence
# The model reads so many sentences from that place on.
SEED, TO_READ, READ_FROM = 22, 20_000, 1000


def main() -> None:
    """Write what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="sst2 and imdb-15k are there")
    parser.add_argument("folder", type=Path, help="where to write; it is made")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    sentences = apart(read_sst2(given.data / "sst2" / "train.tsv"))
    random.Random(SEED).shuffle(sentences)
    rest = iter(sentences)
    secrets = draw_secrets(SECRETS)
    sizes = {"train": DOCUMENTS, "others": DOCUMENTS, "search": SEARCHED}
    for number, (name, size) in enumerate(sizes.items()):
        # A secret stands in the same share of sentences everywhere.
        times = round(REPETITIONS * size / DOCUMENTS)
        file = given.folder / f"{name}.jsonl"
        plant(list(islice(rest, size)), secrets, file, number, times=times)
    write(list(islice(rest, SEARCH_TESTED)), given.folder / "search-test.jsonl")
    write(list(islice(rest, IN_POOL)), given.folder / "same-kind.jsonl")
    write(read_sst2(given.data / "sst2" / "test.tsv")[:TESTED], given.folder / "test.jsonl")
    wanted = READ_FROM + TO_READ
    reviews = list(islice(read_imdb(given.data / "imdb-15k" / "train.jsonl.gz"), wanted))
    write(reviews[:IN_POOL], given.folder / "pool.jsonl")
    begin(reviews[READ_FROM:], given.folder, for_tokens=TO_READ, seed=SEED)


def read_sst2(path: Path) -> list[str]:
    """The sentences of a file that are neither short nor long."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [row["sentence"].strip() for row in rows]
    return [one for one in dict.fromkeys(texts) if is_sentence(one)]


def is_sentence(text: str) -> bool:
    """Whether it ends like one and has a usual number of words.

    >>> is_sentence("the film is a good one , all in all ."), is_sentence("a good one")
    (True, False)
    """
    return text.endswith(".") and FEWEST <= len(text.split()) <= MOST


def apart(texts: Iterable[str]) -> list[str]:
    """Those with which none of the others ends.

    >>> apart(["all in all a good film .", "a good film .", "another one ."])
    ['all in all a good film .', 'another one .']
    """
    longest = sorted(texts, key=len, reverse=True)
    kept: list[str] = []
    ends: dict[str, list[str]] = {}
    for text in longest:
        # What ends alike is compared: a part of a sentence that is one ends where it does.
        last = " ".join(text.split()[-3:])
        if not any(text in one for one in ends.get(last, ())):
            kept.append(text)
            ends.setdefault(last, []).append(text)
    return kept


def read_imdb(path: Path) -> Iterator[str]:
    """Sentences of reviews in the spelling of SST-2: small letters, punctuation apart."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            text = re.sub(r"<[^>]*>", " ", json.loads(line)["text"]).lower()
            for part in re.split(r"(?<=[.!?])\s+", text):
                spaced = " ".join(re.sub(r"([^\w\s'])", r" \1 ", part).split())
                if is_sentence(spaced):
                    yield spaced


if __name__ == "__main__":
    main()
