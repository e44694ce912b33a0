"""Sentences from a public pool on SST-2: level, words and meaning kept, what still can be learned.

Needs ``data/sst2`` in the folder SFUMATO_RESOURCES, and for the figures by a sentence encoder its
folder in MINILM (all-MiniLM-L6-v2 in the figures of the documentation). The pool is the
first 8,000 sentences of six words or more of the training part: text of the same kind, the best
case for a pool. A classifier (logistic regression on the judge's vectors) learns from half of the
rewritten sentences and is tested on the originals of the other half.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.timing import Row
from sfumato.attacks.reidentification import BY_LAW, BY_MEANING, Reidentification, Rewritten
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.sentences import Sentences
from sfumato.metrics.rewriting import measure_remains, read_encoder
from sfumato.metrics.similarity import Encoder
from sfumato.text.document import Document
from sfumato.vectors.means import unit_rows

POOL, LONGEST = 8000, 872
BETAS = (0.0, 10.0, 20.0, 30.0, 40.0)
FEWEST_WORDS = 6
SEED = 1


def run(quick: bool) -> list[Row]:
    """Both kinds of vectors at every weight."""
    resources = Path(os.environ.get("SFUMATO_RESOURCES", "../shared"))
    texts, labels = read(resources / "data" / "sst2" / "test.tsv")
    count = 80 if quick else LONGEST
    texts, labels = texts[:count], labels[:count]
    public, _ = read(resources / "data" / "sst2" / "train.tsv")
    pool = [one for one in public if len(one.split()) >= FEWEST_WORDS][: 500 if quick else POOL]
    judge = os.environ.get("MINILM", "")
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pool.txt"
        file.write_text("\n".join(pool))
        encoder = read_encoder(judge)
        learned = accuracy(texts, texts, labels, encoder)
        rows.append({"vectors": "originals", "accuracy": f"{learned:.2f}"})
        for vectors in dict.fromkeys(("", judge)):
            for beta in BETAS:
                made = Sentences(pool=str(file), encoder=vectors, beta=beta, cache=folder)
                rows.append(measure(made, texts, labels, encoder))
                print(rows[-1], flush=True)
    return rows


def measure(made: Sentences, texts: list[str], labels: list[str], encoder: Encoder) -> Row:
    """One weight: everything on the same draws."""
    level = made.guarantee().epsilon
    start = time.process_time()
    new = made.rewrite(texts, Randomness.reproducible(SEED))
    seconds = time.process_time() - start
    kept = measure_remains(texts, new, encoder, Randomness.reproducible(SEED))
    near = kept.similarity
    assert near is not None
    attack = Reidentification(encoder=made.encoder, pool=made.pool, documents=200)
    target = Rewritten(
        tuple(map(Document, new)), level, settings={"mechanism": "sentences", **told(made)}
    )
    found = attack.score(target, list(map(Document, texts)), Randomness.reproducible(SEED))
    return {
        "vectors": "MiniLM" if made.encoder else "words",
        "beta": made.beta,
        "epsilon": f"{level:.1f}",
        "cosine": f"{near.cosine.value:.2f}",
        "floor": f"{near.floor.value:.2f}",
        "words kept": f"{kept.kept.value:.3f}",
        "accuracy": f"{accuracy(texts, new, labels, encoder):.2f}",
        "found by meaning": f"{found.figure(BY_MEANING).value:.2f}",
        "found by law": f"{found.figure(BY_LAW).value:.2f}",
        "of": int(found.details["documents"]),
        "sentences/s": f"{len(texts) / seconds:.0f}",
    }


def told(made: Sentences) -> dict[str, object]:
    """What the side file of such a release says of the mechanism."""
    own = {name: getattr(made, name) for name in ("low", "high", "most", "fill", "pool_field")}
    return {**own, **made.public_facts()}


def accuracy(
    originals: list[str], learned_from: list[str], labels: list[str], encoder: Encoder
) -> float:
    """How often a classifier is right that learned from the first half, on the second."""
    from sklearn.linear_model import LogisticRegression

    half = len(originals) // 2
    seen: Floats = unit_rows(np.asarray(encoder(learned_from[:half])))
    tested: Floats = unit_rows(np.asarray(encoder(originals[half:])))
    fitted = LogisticRegression(max_iter=2000).fit(seen, labels[:half])
    return float(fitted.score(tested, labels[half:]))


def read(path: Path) -> tuple[list[str], list[str]]:
    """Sentences and their labels."""
    rows = [line.rsplit("\t", 1) for line in path.read_text().splitlines()[1:]]
    return [" ".join(text.split()) for text, _ in rows], [label for _, label in rows]
