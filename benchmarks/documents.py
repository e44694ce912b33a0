"""One public sentence for a whole film review: how near it comes, by both scores of `candidates`.

Needs ``data/imdb-15k`` in the folder SFUMATO_RESOURCES, and for the figures of the documentation
the folder of all-MiniLM-L6-v2 in MINILM. Documents are the first twelve sentences of reviews of the
test part that have as many; the pool is sentences of the training part. *Cosine* is that of the
output with the mean of a document's sentences, as the law expects it (no draw, so no seed);
*found* is the attacker who knows the law, on one draw for each document.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.timing import Row
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.candidates import Candidates
from sfumato.text.sentences import split_sentences
from sfumato.vectors.means import unit_rows

SENTENCES, POOL, DOCUMENTS = 12, 1850, 200
FEWEST_WORDS, MOST_WORDS = 6, 40
LEVELS = (0.0, 2.0, 5.0, 10.0)
SEED = 1
WAYS: dict[str, dict[str, object]] = {
    "cosine in [0.1, 0.4]": {},
    "cosine in [0.1, 0.7]": {"high": 0.7},
    "depth, 50 directions of 10 components": {"score": "depth"},
    "depth, 200 directions": {"score": "depth", "components": 0, "projections": 200},
}


def run(quick: bool) -> list[Row]:
    """Every score at every level."""
    resources = Path(os.environ.get("SFUMATO_RESOURCES", "../shared")) / "data" / "imdb-15k"
    texts = documents(resources / "test.jsonl.gz", 20 if quick else DOCUMENTS)
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pool.txt"
        pool = sentences(resources / "train.jsonl.gz", 300 if quick else POOL)
        file.write_text("\n".join(pool))
        vectors = None
        for way, settings in WAYS.items():
            for epsilon in LEVELS:
                level = {"epsilon": epsilon} if epsilon else {"beta": 0.0}
                made = Candidates(
                    pool=str(file),
                    encoder=os.environ.get("MINILM", ""),
                    cache=folder,
                    **level,  # type: ignore[arg-type]
                    **settings,  # type: ignore[arg-type]
                )
                if vectors is None:
                    vectors = [made.vectors_of(one) for one in texts]
                rows.append({"score": way} | measure(made, np.stack(vectors)))
                print(rows[-1], flush=True)
    return rows


def measure(made: Candidates, vectors: Floats) -> Row:
    """One level of one score; vectors of a document are computed once for all of them."""
    logs = np.stack([made.law.log_row(one) for one in vectors])
    means = unit_rows(vectors.mean(axis=1))
    near = means @ unit_rows(made.text_pool.vectors.astype(np.float64)).T
    randomness = Randomness.reproducible(SEED)
    drawn = [int(made.law.draw(one, randomness)[0]) for one in vectors]
    fits = logs[:, drawn].T
    # What fits several originals best is a guess among them.
    best = fits >= fits.max(axis=1, keepdims=True) - 1e-12
    found = float((np.diag(best) / best.sum(axis=1)).mean())
    return {
        "epsilon, sentence": f"{made.law.level:.1f}",
        "epsilon, document": f"{made.law.document_level:.1f}",
        "cosine": f"{(np.exp(logs) * near).sum(axis=1).mean():.2f}",
        "average candidate": f"{near.mean():.2f}",
        "best candidate": f"{near.max(axis=1).mean():.2f}",
        "found by law": f"{found:.3f}",
        "of": len(vectors),
    }


def reviews(path: Path) -> Iterator[list[str]]:
    """The sentences of each review."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield split_sentences(json.loads(line)["text"].replace("<br />", " "))


def documents(path: Path, count: int) -> list[str]:
    """The first sentences of so many reviews that are long enough."""
    found: list[str] = []
    for one in reviews(path):
        if len(one) >= SENTENCES:
            found.append("\n".join(one[:SENTENCES]))
        if len(found) == count:
            break
    return found


def sentences(path: Path, count: int) -> list[str]:
    """So many different sentences of usual length."""
    found: dict[str, None] = {}
    for one in reviews(path):
        found.update(
            (text, None) for text in one if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS
        )
        if len(found) >= count:
            break
    return list(found)[:count]
